interface Bar {
  /** Below the bar. */
  readonly name: string;
  /** The bar's meaning, in words. */
  readonly title: string;
  readonly value: number;
}

/** The top of a scale for a largest value: 1, 2 or 5 and zeros. */
const topFor = (largest: number): number => {
  let power = 1;
  while (power * 10 < largest) power *= 10;
  return [1, 2, 5, 10].map((step) => step * power).find((top) => top >= largest) ?? 10 * power;
};

const width = 280;
const height = 72;

/** Bars, each with its words, beside a table of the same figures. */
export const Bars = ({ label, bars }: { readonly label: string; readonly bars: readonly Bar[] }) => {
  const top = topFor(Math.max(1, ...bars.map(({ value }) => value)));
  const step = width / bars.length;
  const gap = Math.min(6, step / 6);
  return (
    <svg class="chart" viewBox={`0 0 ${width} ${height + 16}`} role="img" aria-label={label}>
      {bars.map(({ name, title, value }, at) => {
        const tall = value === 0 ? 1 : Math.max(2, (value / top) * height);
        return (
          <g>
            <rect x={at * step + gap} y={height - tall} width={step - 2 * gap} height={tall} rx={gap / 2}>
              <title>{title}</title>
            </rect>
            <text x={at * step + step / 2} y={height + 13} text-anchor="middle">
              {name}
            </text>
          </g>
        );
      })}
    </svg>
  );
};
