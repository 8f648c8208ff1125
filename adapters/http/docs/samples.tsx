import { responseExampleOf, samplesOf, type Sample as Call } from '../document/samples.js';
import type { Route } from '../server/route.js';
import { Json, Sample } from './code.js';
import type { Language } from './highlight.js';

const languages: Readonly<Record<Call['lang'], Language>> = { Shell: 'sh', JavaScript: 'js', Python: 'py' };

const places: Readonly<Record<Call['label'], string>> = {
  curl: 'in-curl',
  Node: 'in-node',
  Python: 'in-python',
};

interface LanguagesProps {
  /** Distinguishes its languages from other samples' of the page. */
  readonly name: string;
  readonly samples: readonly Call[];
  /** Which of the reader's terminals the first of them is typed into. */
  readonly terminal?: number | undefined;
}

/** One call in several languages; without scripts, too, one of them is shown at a time. */
export const Languages = ({ name, samples, terminal }: LanguagesProps) => (
  <fieldset class="languages">
    <legend class="hidden">Language of the sample</legend>
    {samples.map(({ label }, at) => (
      <label>
        <input type="radio" name={`language-${name}`} value={label} checked={at === 0} />
        {label}
      </label>
    ))}
    {samples.map(({ label, lang, source }, at) => (
      <div class={places[label]}>
        <Sample language={languages[lang]} source={source} terminal={at === 0 ? terminal : undefined} />
      </div>
    ))}
  </fieldset>
);

/** A sample response: for an operation that may find an existing thing, the response for a new one. */
const Response = ({ route }: { readonly route: Route }) => {
  const { responses } = route;
  const [status, response] = Object.entries(responses).toSorted(([a], [b]) => Number(b) - Number(a))[0] ?? [];
  const example = response === undefined ? undefined : responseExampleOf(route, response);
  return example === undefined ? null : <Json title={`Response ${status}`} value={example} />;
};

export const Samples = ({ route, baseUrl }: { readonly route: Route; readonly baseUrl: string }) => (
  <div class="samples">
    <Languages name={route.id} samples={samplesOf(route, baseUrl)} />
    <Response route={route} />
  </div>
);
