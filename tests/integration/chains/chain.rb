# SPDX-License-Identifier: Apache-2.0
# main → alpha → beta → work → spin; with "fiber", each turn in a Fiber of its own.

def spin(n)
  i = 0
  while i < 20_000
    n = (n * 31 + i) & 0xffffff
    i += 1
  end
  n
end

def work(n)
  spin(n) + 1
end

def beta(n)
  work(n) + 2
end

def alpha(n)
  beta(n) + 3
end

n = 1
if ARGV[0] == "fiber"
  loop { n = Fiber.new { alpha(n) }.resume }
else
  loop { n = alpha(n) }
end
