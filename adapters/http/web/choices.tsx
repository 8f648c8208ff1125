interface ChecksProps {
  readonly legend: string;
  readonly hint: string;
  /** The names of the fields; each is sent as `on` if it is chosen. */
  readonly names: readonly string[];
  readonly chosen: (name: string) => boolean;
}

/** Any of several things. */
export const Checks = ({ legend, hint, names, chosen }: ChecksProps) => (
  <fieldset aria-describedby="checks-hint">
    <legend>{legend}</legend>
    <p class="hint" id="checks-hint">
      {hint}
    </p>
    {names.map((name) => (
      <label class="check">
        <input type="checkbox" name={name} value="on" checked={chosen(name)} />
        <code>{name}</code>
      </label>
    ))}
  </fieldset>
);

interface MomentProps {
  readonly name: string;
  readonly label: string;
  /** The time zone in which it is read. */
  readonly zone: string;
  /** As browsers write it: `2026-03-02T15:04`. */
  readonly value: string;
}

/** A moment, to the minute. */
export const Moment = ({ name, label, zone, value }: MomentProps) => (
  <p class="field">
    <label for={`field-${name}`}>{label}</label>
    <span class="hint" id={`field-${name}-hint`}>
      {zone.replaceAll('_', ' ')}
    </span>
    <input
      id={`field-${name}`}
      type="datetime-local"
      name={name}
      value={value}
      required
      aria-describedby={`field-${name}-hint`}
    />
  </p>
);
