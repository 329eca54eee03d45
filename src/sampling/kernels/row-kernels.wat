;; Passes over a row of logits, four lanes at a time.
;;
;; Memory:  [ logits: f32 x size ][ weights: f32 x size ][ ids: u32 x size ]
;;          0                     as the caller lays them out, 16-byte aligned
;;
;; Loops take steps of four logits; the caller pads the row with -Infinity to a multiple of four.
;; NaN counts as the lowest value everywhere: pmax and comparisons pass over it.
(module
  (memory (export "memory") 16)

  ;; Largest of `count` logits (a multiple of 4); -Infinity for none.
  (func (export "maximum") (param $at i32) (param $count i32) (result f32)
    (local $end i32) (local $best v128)
    (local.set $best (f32x4.splat (f32.const -inf)))
    (local.set $end (i32.add (local.get $at) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $best (f32x4.pmax (local.get $best) (v128.load (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br $next)))
    (f32.max
      (f32.max (f32x4.extract_lane 0 (local.get $best)) (f32x4.extract_lane 1 (local.get $best)))
      (f32.max (f32x4.extract_lane 2 (local.get $best)) (f32x4.extract_lane 3 (local.get $best)))))

  ;; The first index from `from` on whose logit is at least `limit`, or `count`.
  (func (export "firstAtLeast")
    (param $at i32) (param $from i32) (param $count i32) (param $limit f32) (result i32)
    (local $limits v128)
    (local.set $limits (f32x4.splat (local.get $limit)))
    (block $found
      (loop $next
        (if (i32.ge_u (local.get $from) (local.get $count)) (then (return (local.get $count))))
        ;; Four at a time where four are left and none of them is it.
        (if (i32.le_u (i32.add (local.get $from) (i32.const 4)) (local.get $count))
          (then
            (if (i32.eqz
                  (v128.any_true
                    (f32x4.ge
                      (v128.load (i32.add (local.get $at) (i32.shl (local.get $from) (i32.const 2))))
                      (local.get $limits))))
              (then
                (local.set $from (i32.add (local.get $from) (i32.const 4)))
                (br $next)))))
        (br_if $found
          (f32.ge
            (f32.load (i32.add (local.get $at) (i32.shl (local.get $from) (i32.const 2))))
            (local.get $limit)))
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (br $next)))
    (local.get $from))

  ;; Calls in an inner loop cost as much as their work, so the build puts these lines where they are
  ;; used (scripts/build-kernels.ts).

  ;; e^(x + rest) for four x <= 0 goes to $p; relative error below 3e-7. x = k ln 2 + r, then e^r by
  ;; a polynomial of degree 6 (minimax coefficients for |r| <= ln 2 / 2), then k is added to the
  ;; exponent bits. $rest is a small correction to $x. Arguments below -87, and what is no number,
  ;; count as -87 alone. e^0 is exactly 1.
  (; define exponential
    (local.set $rest
      (v128.and (local.get $rest) (f32x4.gt (local.get $x) (f32x4.splat (f32.const -87)))))
    (local.set $x (f32x4.pmax (f32x4.splat (f32.const -87)) (local.get $x)))
    ;; 1.5 * 2^23 + k holds the whole number k in its low bits, rounded to the nearest.
    (local.set $k
      (f32x4.add
        (f32x4.mul (local.get $x) (f32x4.splat (f32.const 1.44269504)))
        (f32x4.splat (f32.const 12582912))))
    (local.set $p (f32x4.sub (local.get $k) (f32x4.splat (f32.const 12582912))))
    ;; ln 2 in two parts, the first with so few bits that its product with k is exact.
    (local.set $r
      (f32x4.add (local.get $rest)
        (f32x4.sub
          (f32x4.sub (local.get $x)
            (f32x4.mul (local.get $p) (f32x4.splat (f32.const 0.693359375))))
          (f32x4.mul (local.get $p) (f32x4.splat (f32.const -2.12194440e-4))))))
    (local.set $p (f32x4.splat (f32.const 1.9875691500e-4)))
    (local.set $p
      (f32x4.add (f32x4.splat (f32.const 1.3981999507e-3)) (f32x4.mul (local.get $p) (local.get $r))))
    (local.set $p
      (f32x4.add (f32x4.splat (f32.const 8.3334519073e-3)) (f32x4.mul (local.get $p) (local.get $r))))
    (local.set $p
      (f32x4.add (f32x4.splat (f32.const 4.1665795894e-2)) (f32x4.mul (local.get $p) (local.get $r))))
    (local.set $p
      (f32x4.add (f32x4.splat (f32.const 1.6666665459e-1)) (f32x4.mul (local.get $p) (local.get $r))))
    (local.set $p
      (f32x4.add (f32x4.splat (f32.const 5.0000001201e-1)) (f32x4.mul (local.get $p) (local.get $r))))
    (local.set $p (f32x4.mul (local.get $p) (f32x4.mul (local.get $r) (local.get $r))))
    (local.set $p
      (f32x4.add (f32x4.splat (f32.const 1)) (f32x4.add (local.get $r) (local.get $p))))
    (local.set $p (i32x4.add (local.get $p) (i32x4.shl (local.get $k) (i32.const 23))))
  ;)

  ;; Four logits less the largest go to $x, and what that loses to rounding to $rest (Knuth's
  ;; two-sum).
  (; define difference
        (local.set $x (f32x4.sub (local.get $four) (local.get $maxima)))
        (local.set $rest (f32x4.sub (local.get $x) (local.get $four)))
        (local.set $rest
          (f32x4.sub
            (f32x4.sub (local.get $four) (f32x4.sub (local.get $x) (local.get $rest)))
            (f32x4.add (local.get $maxima) (local.get $rest))))
  ;)

  ;; Adds the four numbers in $p to the float64 sums in $low and $high.
  (; define accumulate
    (local.set $low (f64x2.add (local.get $low) (f64x2.promote_low_f32x4 (local.get $p))))
    (local.set $high
      (f64x2.add (local.get $high)
        (f64x2.promote_low_f32x4
          (i8x16.shuffle 8 9 10 11 12 13 14 15 8 9 10 11 12 13 14 15
            (local.get $p) (local.get $p)))))
  ;)

  ;; Sum of e^(logit - max) over `count` logits (a multiple of 4), max the largest of them. The sum
  ;; is float64 and the rest of each difference is carried along: so the likeliest token counts
  ;; exactly 1, and a logprob near zero keeps its digits.
  (func (export "sumOfExponentials")
    (param $at i32) (param $count i32) (param $max f32) (result f64)
    (local $end i32) (local $four v128) (local $maxima v128) (local $low v128) (local $high v128)
    (local $x v128) (local $rest v128) (local $k v128) (local $r v128) (local $p v128)
    (local.set $maxima (f32x4.splat (local.get $max)))
    (local.set $end (i32.add (local.get $at) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $four (v128.load (local.get $at)))
        (; use difference ;)
        (; use exponential ;)
        (; use accumulate ;)
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br $next)))
    (local.set $low (f64x2.add (local.get $low) (local.get $high)))
    (f64.add (f64x2.extract_lane 0 (local.get $low)) (f64x2.extract_lane 1 (local.get $low))))

  ;; Writes e^((logit - max) * scale) for `count` logits (a multiple of 4) and gives their sum; with
  ;; scale 1 the very number that sumOfExponentials gives.
  (func (export "weigh")
    (param $at i32) (param $count i32) (param $max f32) (param $scale f32) (param $weights i32)
    (result f64)
    (local $end i32) (local $four v128) (local $maxima v128) (local $scales v128)
    (local $low v128) (local $high v128)
    (local $x v128) (local $rest v128) (local $k v128) (local $r v128) (local $p v128)
    (local.set $maxima (f32x4.splat (local.get $max)))
    (local.set $scales (f32x4.splat (local.get $scale)))
    (local.set $end (i32.add (local.get $at) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $four (v128.load (local.get $at)))
        (; use difference ;)
        (local.set $x (f32x4.mul (local.get $scales) (local.get $x)))
        (local.set $rest (f32x4.mul (local.get $scales) (local.get $rest)))
        (; use exponential ;)
        (v128.store (local.get $weights) (local.get $p))
        (; use accumulate ;)
        (local.set $weights (i32.add (local.get $weights) (i32.const 16)))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br $next)))
    (local.set $low (f64x2.add (local.get $low) (local.get $high)))
    (f64.add (f64x2.extract_lane 0 (local.get $low)) (f64x2.extract_lane 1 (local.get $low))))

  ;; Adds each weight to the mass (f64) of its bucket; weights below `floor` to that of `floor`. A
  ;; bucket is a range of float32 bit patterns that agree in all but their last 16 bits: 128 buckets
  ;; between a number and its double. `first` is the pattern of `floor` without those bits. There
  ;; is no branch, since which weights matter cannot be foretold.
  (func (export "histogram")
    (param $weights i32) (param $count i32) (param $floor f32) (param $first i32) (param $table i32)
    (local $end i32) (local $weight f32) (local $bucket i32)
    (local.set $end (i32.add (local.get $weights) (i32.shl (local.get $count) (i32.const 2))))
    (local.set $table (i32.sub (local.get $table) (i32.shl (local.get $first) (i32.const 3))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $weights) (local.get $end)))
        (local.set $weight (f32.load (local.get $weights)))
        (local.set $bucket
          (i32.add (local.get $table)
            (i32.shl
              (i32.shr_u
                (i32.reinterpret_f32 (f32.max (local.get $weight) (local.get $floor)))
                (i32.const 16))
              (i32.const 3))))
        (f64.store (local.get $bucket)
          (f64.add (f64.load (local.get $bucket)) (f64.promote_f32 (local.get $weight))))
        (local.set $weights (i32.add (local.get $weights) (i32.const 4)))
        (br $next))))

  ;; Writes the indexes of weights that are at least `limit` and below `end`, in rising order; gives
  ;; their number. Weights are looked at four at a time: few of them matter.
  (func (export "select")
    (param $weights i32) (param $count i32) (param $limit f32) (param $above f32) (param $ids i32)
    (result i32)
    (local $index i32) (local $last i32) (local $limits v128) (local $start i32)
    (local.set $limits (f32x4.splat (local.get $limit)))
    (local.set $start (local.get $ids))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $index) (local.get $count)))
        (local.set $last (i32.add (local.get $index) (i32.const 4)))
        (if (v128.any_true (f32x4.ge (v128.load (local.get $weights)) (local.get $limits)))
          (then
            (loop $lane
              (if (i32.and
                    (f32.ge (f32.load (local.get $weights)) (local.get $limit))
                    (f32.lt (f32.load (local.get $weights)) (local.get $above)))
                (then
                  (i32.store (local.get $ids) (local.get $index))
                  (local.set $ids (i32.add (local.get $ids) (i32.const 4)))))
              (local.set $weights (i32.add (local.get $weights) (i32.const 4)))
              (local.set $index (i32.add (local.get $index) (i32.const 1)))
              (br_if $lane (i32.lt_u (local.get $index) (local.get $last)))))
          (else
            (local.set $weights (i32.add (local.get $weights) (i32.const 16)))
            (local.set $index (local.get $last))))
        (br $next)))
    (i32.shr_u (i32.sub (local.get $ids) (local.get $start)) (i32.const 2)))

  ;; The first index at which the running sum of the weights that belong to the draw exceeds
  ;; `target`; the last such index if none does, -1 if there is none. A token belongs when its
  ;; weight is at least `floor` and its logit is above `cut`, or equal to it while `ties` last.
  (func (export "draw")
    (param $at i32) (param $weights i32) (param $count i32) (param $floor f32)
    (param $cut f32) (param $ties i32) (param $target f64) (result i32)
    (local $index i32) (local $last i32) (local $sum f64) (local $logit f32) (local $weight f32)
    (local.set $last (i32.const -1))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $index) (local.get $count)))
        (local.set $logit (f32.load (local.get $at)))
        (local.set $weight (f32.load (local.get $weights)))
        (block $skip
          (br_if $skip (i32.eqz (f32.ge (local.get $weight) (local.get $floor))))
          (br_if $skip (f32.lt (local.get $logit) (local.get $cut)))
          (if (f32.eq (local.get $logit) (local.get $cut))
            (then
              (br_if $skip (i32.eqz (local.get $ties)))
              (local.set $ties (i32.sub (local.get $ties) (i32.const 1)))))
          (local.set $last (local.get $index))
          (local.set $sum (f64.add (local.get $sum) (f64.promote_f32 (local.get $weight))))
          (br_if $done (f64.gt (local.get $sum) (local.get $target))))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (local.set $weights (i32.add (local.get $weights) (i32.const 4)))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (br $next)))
    (local.get $last)))
