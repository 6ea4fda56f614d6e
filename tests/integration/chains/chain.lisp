;;; SPDX-License-Identifier: Apache-2.0
;;; main → alpha → beta → work → spin, for ever; writes its own perf map.

(declaim (optimize (speed 1) (debug 1)) (notinline spin work beta alpha main))

(defun spin (n)
  (declare (type (unsigned-byte 32) n))
  (dotimes (i 200000 n)
    (setf n (logand (+ (* n 31) i) #xffffff))))

(defun work (n) (1+ (spin (logand n #xffffff))))
(defun beta (n) (1+ (work n)))
(defun alpha (n) (1+ (beta n)))
(defun main () (let ((n 1)) (loop (setf n (logand (alpha n) #xffffff)))))

(defun write-map ()
  (with-open-file (out (format nil "/tmp/perf-~d.map" (sb-posix:getpid))
                       :direction :output :if-exists :supersede)
    (dolist (name '(spin work beta alpha main))
      (let* ((code (sb-kernel:fun-code-header (symbol-function name)))
             (start (sb-sys:sap-int (sb-kernel:code-instructions code))))
        (format out "~(~x~) ~(~x~) ~(~a~)~%" start (sb-kernel:%code-text-size code) name)))))
