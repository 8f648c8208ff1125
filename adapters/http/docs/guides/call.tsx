import { inLanguages, type SampleRequest } from '../../document/samples.js';
import { Figure } from '../code.js';
import { Languages } from '../samples.js';

interface CallProps {
  /** Distinguishes it from the other calls of the page. */
  readonly name: string;
  readonly method?: 'DELETE';
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
