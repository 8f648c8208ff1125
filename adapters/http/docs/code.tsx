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
export const Sample = ({ language, source, terminal }: SampleProps) => (
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
export const Figure = ({ title, children }: FigureProps) => (
  <figure class="code">
    {title === undefined ? null : <figcaption>{title}</figcaption>}
    {children}
  </figure>
);

export const Code = ({ title, ...sample }: SampleProps & Pick<FigureProps, 'title'>) => (
  <Figure title={title}>
    <Sample {...sample} />
  </Figure>
);

/** A value as JSON for people. */
export const Json = ({ value, title }: Pick<FigureProps, 'title'> & { readonly value: unknown }) => (
  <Code language="json" title={title} source={JSON.stringify(value, null, 2)} />
);

/** The lines of an example from one that begins so to the next that is so. Throws if they aren't there. */
export const excerpt = (file: string, first: string, last: string): string => {
  const lines = fileOf(`examples/${file}`).split('\n');
  const from = lines.findIndex((line) => line.startsWith(first));
  const to = lines.indexOf(last, from);
  if (from < 0 || to < 0) throw new Error(`examples/${file} has no lines from ${first} to ${last}`);
  return lines.slice(from, to + 1).join('\n');
};
