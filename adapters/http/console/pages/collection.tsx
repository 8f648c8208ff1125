import { listCollection } from '../../../../application/organizations/read-collection.js';
import { Cover } from '../../web/cover.js';
import { Empty, PageHeading, Older } from '../../web/parts.js';
import { page } from '../page.js';
import { paths } from '../../web/paths.js';

const perPage = 60;
const about = 'Cards that anyone can send, written with a pen.';

/** A public page: the cards that anyone may send. */
export const collectionPage = page({
  path: paths.collection,
  may: 'anyone',
  query: ['before'],
  load: ({ deps, query }) => {
    const before = query('before');
    return listCollection(deps, { limit: perPage + 1, startingAfter: before === '' ? null : before });
  },
  title: () => 'Collection',
  linked: (cards) => ({
    description: about,
    front: cards.find(({ artwork }) => artwork !== null)?.artwork ?? null,
  }),
  view: (cards, { url }) => {
    const shown = cards.slice(0, perPage);
    const last = cards.length > perPage ? shown.at(-1) : undefined;
    return (
      <>
        <PageHeading title="Collection" />
        <p class="quiet">{about}</p>
        {shown.length === 0 ? (
          <Empty title="There is no card yet">Those that the service publishes stand here.</Empty>
        ) : (
          <ul class="covers">
            {shown.map(({ slug, title, artwork }) => (
              <li>
                <a href={url(paths.collectionCard, { slug })}>
                  <Cover title={title} name={slug} artwork={artwork} url={url} />
                  <strong>{title}</strong>
                </a>
              </li>
            ))}
          </ul>
        )}
        <Older to={last === undefined ? null : url(paths.collection, {}, { before: last.slug })} />
      </>
    );
  },
});
