import { inLanguages, type SampleRequest } from '../../document/samples.js';
import { Languages } from '../samples.js';

interface CallProps {
  /** Distinguishes it from the other calls of the page. */
  readonly name: string;
  readonly method?: 'DELETE' | 'PATCH';
  /** `$NAME` in it is a variable of the environment. */
  readonly url: string;
  /** The variable with the key; API_KEY if it isn't named, null if the address is a credential itself. */
  readonly credential?: SampleRequest['credential'];
  readonly body?: object;
  /** The file that curl sends instead, if it holds the body. */
  readonly file?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A header of the response to look at. */
  readonly shows?: string;
  /** Whether the response goes on as things happen. */
  readonly streams?: boolean;
  /** The terminal or file that the call with curl is typed into. */
  readonly title?: string;
  readonly terminal?: number;
}

const samplesOf = ({ file, body, headers = {}, ...call }: CallProps) => {
  const [curl, ...others] = inLanguages({
    method: call.method ?? (body === undefined ? 'GET' : 'POST'),
    url: call.url,
    credential: call.credential === undefined ? 'API_KEY' : call.credential,
    headers: Object.entries(headers),
    body,
    reads: call.streams === true ? 'stream' : 'json',
    ...(call.shows !== undefined && { shows: call.shows }),
  });
  const source = file === undefined ? curl.source : curl.source.replace(/-d '[^]*'$/, `-d @${file}`);
  return [{ ...curl, source }, ...others];
};

/** A call of the API in several languages. */
export const Call = (props: CallProps) => (
  <figure class="code">
    {props.title === undefined ? null : <figcaption>{props.title}</figcaption>}
    <Languages
      name={props.name}
      samples={samplesOf(props)}
      {...(props.terminal !== undefined && { terminal: props.terminal })}
    />
  </figure>
);
