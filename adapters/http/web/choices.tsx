import { useVisit } from './visit.js';
import { Group, LabelledControl, useSent } from './form.js';

interface ChecksProps {
  /** The name that a refusal uses. */
  readonly name: string;
  readonly legend: string;
  readonly hint: string;
  /** The names of the fields; each is sent as `on` if it is chosen. */
  readonly names: readonly string[];
  readonly chosen: (name: string) => boolean;
}

/** Any of several things. */
export const Checks = ({ name: group, legend, hint, names, chosen }: ChecksProps) => (
  <Group name={group} legend={legend} hint={hint}>
    {names.map((name) => (
      <label class="check">
        <input type="checkbox" name={name} value="on" checked={chosen(name)} />
        <code>{name}</code>
      </label>
    ))}
  </Group>
);

interface MomentProps {
  readonly name: string;
  readonly label: string;
  /** As browsers write it: `2026-03-02T15:04`. */
  readonly value: string;
}

export const Moment = ({ name, label, value: known }: MomentProps) => {
  const { timeZone } = useVisit();
  const value = useSent(name) || known;
  return (
    <LabelledControl
      name={name}
      label={label}
      hint={<>{timeZone.replaceAll('_', ' ')}</>}
      control={(facts) => <input {...facts} type="datetime-local" value={value} required />}
    />
  );
};
