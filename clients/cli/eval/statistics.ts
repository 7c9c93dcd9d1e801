/** What can be said about a mean or a rate from so many samples? Pure; 95 % throughout. */

export interface Interval {
  low: number;
  high: number;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Of a list that is not empty; the mean of the middle two when its length is even. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  if (!Number.isInteger(middle)) return sorted[Math.floor(middle)] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** With n − 1. @param values two or more. */
export function standardDeviation(values: readonly number[]): number {
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
}

/**
 * Student's t interval of the mean of independent samples. Undefined for fewer than two, and where all are equal: a spread
 * that was not seen cannot be estimated, and "1 [1, 1]" would claim certainty.
 */
export function meanInterval(values: readonly number[]): Interval | undefined {
  const n = values.length;
  if (n < 2 || values.every((value) => value === values[0])) return undefined;
  const half = (studentQuantile(n - 1) * standardDeviation(values)) / Math.sqrt(n);
  const centre = mean(values);
  return { low: centre - half, high: centre + half };
}

/** Wilson's score interval of a proportion: stays within 0 to 1, and says something at 0 of n and n of n. */
export function wilsonInterval(successes: number, n: number): Interval | undefined {
  if (n === 0) return undefined;
  const z = 1.959963984540054;
  const rate = successes / n;
  const scale = 1 + z ** 2 / n;
  const centre = (rate + z ** 2 / (2 * n)) / scale;
  const half = (z / scale) * Math.sqrt((rate * (1 - rate)) / n + z ** 2 / (4 * n ** 2));
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

/** The 97.5 % quantile of Student's t: where 95 % lie within ±t. @param degrees 1 or more. */
export function studentQuantile(degrees: number): number {
  let [low, high] = [0, 13];
  // The distribution function is monotone, and 12.7062 at one degree is the largest there is.
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (studentTail(middle, degrees) > 0.05) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** P(|T| > t) = I(ν/(ν+t²); ν/2, 1/2). */
function studentTail(t: number, degrees: number): number {
  return incompleteBeta(degrees / (degrees + t ** 2), degrees / 2, 0.5);
}

/** The regularised incomplete beta function, by Lentz's continued fraction (DLMF 8.17.22). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The fraction converges fast on this side of the mean only.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  const tiny = 1e-300;
  let [c, d, fraction] = [1, 0, 1];
  for (let i = 0; i <= 300; i++) {
    const m = Math.floor(i / 2);
    const term =
      i === 0
        ? 1
        : i % 2 === 0
          ? (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
          : -((a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + term * d || tiny);
    c = 1 + term / c || tiny;
    fraction *= c * d;
    if (Math.abs(1 - c * d) < 1e-14) break;
  }
  return front * (fraction - 1);
}

/** Lanczos, g = 7, n = 9; 15 digits. @param x positive. */
function logGamma(x: number): number {
  const coefficients = [
    676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
    -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
  ];
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const t = x + 6.5;
  const sum = coefficients.reduce((total, value, i) => total + value / (x + i), 0.99999999999980993);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}
