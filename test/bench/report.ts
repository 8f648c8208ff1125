/** One measured figure. `ratio`: its ratio to the figure that it is compared with. */
export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly ratio: number | null;
  readonly comparedWith: string | null;
  /** What the ratio or the value should be. */
  readonly target: string | null;
  readonly met: boolean | null;
  /** Milliseconds. */
  readonly p50?: number;
  readonly p99?: number;
}

/** Milliseconds that should be no more than a limit. */
export const atMost = (what: string, value: number, limit: number): Figure => ({
  what,
  value,
  unit: 'ms',
  ratio: null,
  comparedWith: null,
  target: `≤ ${limit} ms`,
  met: value <= limit,
});

const rounded = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toFixed(2);

/** The figures as a table for people. */
export const table = (figures: readonly Figure[]): string => {
  const head = ['what', 'value', 'p50 ms', 'p99 ms', 'ratio', 'target'];
  const rows = figures.map(({ what, value, unit, ratio, comparedWith, target, met, p50, p99 }) => [
    what,
    `${rounded(value)} ${unit}`,
    p50 === undefined ? '' : p50.toFixed(1),
    p99 === undefined ? '' : p99.toFixed(1),
    ratio === null ? '' : `${ratio.toFixed(2)} × ${comparedWith ?? ''}`,
    target === null ? '' : `${target}${met === null ? '' : met ? '  met' : '  MISSED'}`,
  ]);
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

/** A target such as `≥ 0.5` or `≤ 25 ms`: one with a unit is about the value, one without about the ratio. */
const wanted = /^([≥≤]) ?([\d.,]+)(.*)$/;

/** Whether a figure misses its target by more than half of it. */
export const isFarMissed = ({ target, met, ratio, value }: Figure): boolean => {
  if (target === null || met !== false) return false;
  const [, sign, number = '', unit = ''] = wanted.exec(target) ?? [];
  if (sign === undefined) return true;
  const limit = Number(number.replaceAll(',', ''));
  const measured = unit.trim() === '' ? (ratio ?? value) : value;
  return sign === '≥' ? measured < limit / 2 : measured > limit * 1.5;
};
