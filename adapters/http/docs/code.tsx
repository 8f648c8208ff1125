import { firstRequest } from '../document/first-card.js';
import {
  inLanguages,
  responseExampleOf,
  samplesOf,
  type Sample,
  type SampleRequest,
} from '../document/samples.js';
import type { Route } from '../server/route.js';
import { fileOf, type Html } from '../web/prose.js';
import { highlighted, type Language } from './highlight.js';

interface SampleProps {
  readonly language: Language;
  readonly source: string;
  /**
   * The reader's terminal that it is typed into. A test types the samples of the quick start: commands of the
   * second terminal end, the others go on.
   */
  readonly terminal?: number | undefined;
}

/** The text of a sample, which the keyboard can scroll. */
const Text = ({ language, source, terminal }: SampleProps) => (
  <div class="sample">
    <pre tabIndex={0} data-language={language} data-terminal={terminal}>
      <code>{highlighted(source, language)}</code>
    </pre>
  </div>
);

interface FigureProps {
  /** Names the sample: a file, a terminal. */
  readonly title?: string | undefined;
  readonly children: Html;
}

/** A sample, or one in several languages, and its title. */
const Figure = ({ title, children }: FigureProps) => (
  <figure class="code">
    {title === undefined ? null : <figcaption>{title}</figcaption>}
    {children}
  </figure>
);

export const Code = ({ title, ...sample }: SampleProps & Pick<FigureProps, 'title'>) => (
  <Figure title={title}>
    <Text {...sample} />
  </Figure>
);

/** A value as JSON for people. */
export const Json = ({ value, title }: Pick<FigureProps, 'title'> & { readonly value: unknown }) => (
  <Code language="json" title={title} source={JSON.stringify(value, null, 2)} />
);

const looks: Readonly<Record<Sample['label'], readonly [language: Language, name: string]>> = {
  curl: ['sh', 'in-curl'],
  Node: ['js', 'in-node'],
  Python: ['py', 'in-python'],
};

interface LanguagesProps {
  /** Distinguishes its languages from other samples' of the page. */
  readonly name: string;
  readonly samples: readonly Sample[];
  /** Which of the reader's terminals the first of them is typed into. */
  readonly terminal?: number | undefined;
}

/** One call in several languages; without scripts, too, one of them is shown at a time. */
const Languages = ({ name, samples, terminal }: LanguagesProps) => (
  <fieldset class="languages">
    <legend class="hidden">Language of the sample</legend>
    {samples.map(({ label }, at) => (
      <label>
        <input type="radio" name={`language-${name}`} value={label} checked={at === 0} />
        {label}
      </label>
    ))}
    {samples.map(({ label, source }, at) => {
      const [language, place] = looks[label];
      return (
        <div class={place}>
          <Text language={language} source={source} terminal={at === 0 ? terminal : undefined} />
        </div>
      );
    })}
  </fieldset>
);

interface CallProps extends Pick<SampleRequest, 'url' | 'shows'> {
  /** Distinguishes it from the other calls of the page. */
  readonly name: string;
  readonly method?: 'DELETE';
  /** The variable with the key; API_KEY if it isn't named, null if the address is a credential itself. */
  readonly credential?: SampleRequest['credential'];
  readonly body?: object;
  /** The file that curl sends instead, if it holds the body. */
  readonly file?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the response goes on as things happen. */
  readonly streams?: boolean;
  /** The terminal or file that the call with curl is typed into. */
  readonly title?: string;
  readonly terminal?: number;
}

/** A call of the API in several languages. */
export const Call = (props: CallProps) => {
  const { name, url, credential = 'API_KEY', body, file, headers = {}, shows, streams = false } = props;
  const [curl, ...others] = inLanguages({
    method: props.method ?? (body === undefined ? 'GET' : 'POST'),
    url,
    credential,
    headers: Object.entries(headers),
    body,
    reads: streams ? 'stream' : 'json',
    ...(shows !== undefined && { shows }),
  });
  const source = file === undefined ? curl.source : curl.source.replace(/-d '[^]*'$/, `-d @${file}`);
  return (
    <Figure title={props.title}>
      <Languages name={name} samples={[{ ...curl, source }, ...others]} terminal={props.terminal} />
    </Figure>
  );
};

interface SendCardProps extends Omit<CallProps, 'url' | 'headers' | 'body'> {
  readonly baseUrl: string;
  readonly idempotencyKey: string;
}

/** The call that sends the first card. */
export const SendCard = ({ baseUrl, idempotencyKey, ...call }: SendCardProps) => (
  <Call
    {...call}
    url={`${baseUrl}/api/v1/cards`}
    headers={{ 'Idempotency-Key': idempotencyKey }}
    body={firstRequest}
  />
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

interface ExcerptProps extends Pick<SampleProps, 'language'>, Pick<FigureProps, 'title'> {
  readonly file: string;
  readonly first: string;
  readonly last: string;
}

/** The lines of an example from one that begins so to the next that is so. Throws if they aren't there. */
export const Excerpt = ({ file, first, last, language, title = `examples/${file}` }: ExcerptProps) => {
  const lines = fileOf(`examples/${file}`).split('\n');
  const from = lines.findIndex((line) => line.startsWith(first));
  const to = lines.indexOf(last, from);
  if (from < 0 || to < 0) throw new Error(`examples/${file} has no lines from ${first} to ${last}`);
  return <Code language={language} title={title} source={lines.slice(from, to + 1).join('\n')} />;
};
