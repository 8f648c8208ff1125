import { listCollection } from '../../../../application/organizations/read-accounts.js';
import { Cover, Empty, Older } from '../../web/parts.js';
import { page } from '../page.js';
import { partOf } from '../paging.js';

const perPage = 60;
const about = 'Cards that anyone can send, written with a pen.';

/** A public page: the cards that anyone may send. */
export const collectionPage = page({
  path: 'collection',
  may: 'anyone',
  query: ['before'],
  load: ({ deps, query }) => partOf(query, (part) => listCollection(deps, part), perPage),
  title: () => 'Collection',
  around: ({ shown }) => ({
    linked: {
      description: about,
      front: shown.find(({ artwork }) => artwork !== null)?.artwork ?? null,
    },
  }),
  view: ({ shown, last }, { url }) => (
    <>
      <p class="quiet">{about}</p>
      {shown.length === 0 ? (
        <Empty title="There is no card yet">Those that the service publishes stand here.</Empty>
      ) : (
        <ul class="covers">
          {shown.map(({ slug, title, artwork }) => (
            <li>
              <a href={url('collectionCard', { slug })}>
                <Cover title={title} artwork={artwork} />
                <strong>{title}</strong>
              </a>
            </li>
          ))}
        </ul>
      )}
      <Older to={last && url('collection', {}, { before: last.slug })} />
    </>
  ),
});
