import { responseExampleOf, samplesOf, type Sample as Call } from '../samples.js';
import type { Route } from '../route.js';
import { Json, Sample } from './code.js';
import type { Language } from './highlight.js';

const languages: Readonly<Record<Call['lang'], Language>> = { Shell: 'sh', JavaScript: 'js', Python: 'py' };

const places: Readonly<Record<Call['label'], string>> = {
  curl: 'in-curl',
  Node: 'in-node',
  Python: 'in-python',
};

/** One call in several languages; without scripts, too, one of them is shown at a time. */
const Languages = ({ name, samples }: { readonly name: string; readonly samples: readonly Call[] }) => (
  <fieldset class="languages">
    <legend class="hidden">Language of the sample</legend>
    {samples.map(({ label }, at) => (
      <label>
        <input type="radio" name={`language-${name}`} value={label} checked={at === 0} />
        {label}
      </label>
    ))}
    {samples.map(({ label, lang, source }) => (
      <div class={places[label]}>
        <Sample language={languages[lang]}>{source}</Sample>
      </div>
    ))}
  </fieldset>
);

/** What is sent and what comes back. */
export const Samples = ({ route, baseUrl }: { readonly route: Route; readonly baseUrl: string }) => (
  <div class="samples">
    <Languages name={route.operation.operationId} samples={samplesOf(route, baseUrl)} />
    {Object.entries(route.operation.responses).map(([status, response]) => {
      const example = responseExampleOf(route, response);
      return example === undefined ? null : <Json title={`Response ${status}`} value={example} />;
    })}
  </div>
);
