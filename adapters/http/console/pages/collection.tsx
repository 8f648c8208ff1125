import { listCollection } from '../../../../application/organizations/read-collection.js';
import { Cover } from '../../web/cover.js';
import { Empty, PageHeading, Older } from '../../web/parts.js';
import { page } from '../page.js';
import { shownPart, wantedPart } from '../paging.js';
import { paths } from '../../web/paths.js';

const perPage = 60;
const about = 'Cards that anyone can send, written with a pen.';

/** A public page: the cards that anyone may send. */
export const collectionPage = page({
  path: paths.collection,
  may: 'anyone',
  query: ['before'],
  load: (context) => listCollection(context.deps, wantedPart(context, perPage)),
  title: () => 'Collection',
  linked: (cards) => ({
    description: about,
    front: cards.find(({ artwork }) => artwork !== null)?.artwork ?? null,
  }),
  view: (cards, { url }) => {
    const { shown, last } = shownPart(cards, perPage);
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
                  <Cover title={title} artwork={artwork} />
                  <strong>{title}</strong>
                </a>
              </li>
            ))}
          </ul>
        )}
        <Older to={last && url(paths.collection, {}, { before: last.slug })} />
      </>
    );
  },
});
