import { Refusal } from '../web/form.js';
import { paths, type PageName, type Path, type Url } from '../web/paths.js';
import type { Html } from '../web/prose.js';
import type { Visit } from '../web/visit.js';

/** Says more about the heading of a page than its title. */
export interface Heading {
  /** The words of the heading, if they are not the title. */
  readonly words?: string;
  /** The page above this one, and its name. */
  readonly above?: readonly [name: string, to: Url];
  /** The name of this page below that one, if it is not the heading. */
  readonly below?: Html;
  /** Right of the heading: a badge, a link that leads on. */
  readonly beside?: Html;
}

/** Pages that share a heading, by their names, in the order in which they are shown. */
const groups: Readonly<Record<string, Readonly<Record<string, PageName>>>> = {
  Settings: { Organization: 'settings', 'Do not mail': 'doNotMail', Members: 'members' },
  Integrations: {
    Keys: 'keys',
    'Inbound hooks': 'hooks',
    Webhooks: 'webhooks',
    Deliveries: 'deliveries',
    Requests: 'requests',
  },
};

interface TopProps {
  readonly title: string;
  readonly heading: Heading;
  readonly context: Pick<Visit, 'url' | 'mayDo' | 'notice'> & { readonly path: Path };
}

type TabsProps = { readonly of: string; readonly pages: Readonly<Record<string, PageName>> };

/** The heading of the pages of a group, with the way to the others. */
const Tabs = ({ of, pages, context: { path, mayDo, url } }: TabsProps & Pick<TopProps, 'context'>) => (
  <>
    <h1>{of}</h1>
    <nav aria-label={of}>
      <ul class="filters">
        {Object.entries(pages)
          .filter(([, to]) => to !== 'members' || mayDo('members.manage'))
          .map(([name, to]) => (
            <li>
              <a href={url(to)} aria-current={paths[to] === path ? 'page' : undefined}>
                {name}
              </a>
            </li>
          ))}
      </ul>
    </nav>
  </>
);

const OwnHeading = ({ title, heading }: Pick<TopProps, 'title' | 'heading'>) => {
  const { words = title, above, below = words, beside } = heading;
  return (
    <>
      {above === undefined ? null : (
        <p class="crumbs">
          <a href={above[1]}>{above[0]}</a> › {below}
        </p>
      )}
      <div class="head">
        <h1>{words}</h1>
        {beside}
      </div>
    </>
  );
};

/** The heading of a page, and the outcome of the form that was sent last. */
export const PageTop = ({ title, heading, context }: TopProps) => {
  const { notice, path } = context;
  const group = Object.entries(groups).find(([, pages]) =>
    Object.values(pages).some((page) => paths[page] === path),
  );
  return (
    <>
      {group === undefined ? (
        <OwnHeading title={title} heading={heading} />
      ) : (
        <Tabs of={group[0]} pages={group[1]} context={context} />
      )}
      {notice === null ? null : (
        <p class="done" role="status">
          {notice}
        </p>
      )}
      <Refusal />
    </>
  );
};
