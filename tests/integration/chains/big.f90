! SPDX-License-Identifier: Apache-2.0
! main → alpha → beta → work → spin, for ever; alpha has 200 KB of the stack, more than is copied of it.
module levels
  implicit none
  integer(8), volatile :: sink = 1
contains
  recursive function spin(n) result(m)
    integer(8), intent(in) :: n
    integer(8) :: m, i
    m = n
    do i = 0, 2000000
      m = ieor(m * 31, i / ior(m, 1_8))
    end do
  end function

  recursive function work(n) result(m)
    integer(8), intent(in) :: n
    integer(8) :: m
    m = spin(n) + 1
  end function

  recursive function beta(n) result(m)
    integer(8), intent(in) :: n
    integer(8) :: m
    m = work(n) + 2
  end function

  recursive function alpha(n) result(m)
    integer(8), intent(in) :: n
    integer(8) :: m
    integer(8), volatile :: frame(25000)
    frame(1) = n
    frame(25000) = n
    m = beta(n) + frame(1)
  end function
end module

program chain
  use levels
  implicit none
  do
    sink = alpha(sink)
  end do
end program
