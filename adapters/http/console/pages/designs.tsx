import { addDesign, changeDesign } from '../../../../application/organizations/administer.js';
import { listCollection, readAccount } from '../../../../application/organizations/read-accounts.js';
import { archiveDesign, eraseDesign, renameDesign, withdrawDesign } from '../../../../domain/organization.js';
import { withReason } from '../../operator/cards.js';
import { newDesign } from '../../operator/customers.js';
import { parseValues } from '../../schema/read.js';
import { Form } from '../../web/form.js';
import { Badge, ButtonLink, Cover, Empty, Older, Time } from '../../web/parts.js';
import { Archived, Erase, perPage, Withdraw, Withdrawn } from '../design-parts.js';
import { confirmed, go, page } from '../page.js';
import { partAfter } from '../paging.js';

const maxOffered = 100;

export const designsPage = page({
  path: 'designs',
  may: 'designs.read',
  mayAct: 'designs.write',
  query: ['before', 'archived', 'done'],
  load: async ({ deps, org, query }) => {
    const [{ designs, archived }, offered] = await Promise.all([
      readAccount(deps, org),
      listCollection(deps, { limit: maxOffered, startingAfter: null }),
    ]);
    return { designs, archived, offered, ...partAfter(designs, ({ id }) => id === query('before'), perPage) };
  },
  title: () => 'Designs',
  heading: (_, { url, mayAct }) => ({
    beside: mayAct && <ButtonLink to={url('newDesign')} words="New design" />,
  }),
  view: ({ designs, archived, offered, shown, last }, { url, query, mayDo, mayAct }) => {
    const copied = new Set(designs.map(({ slug }) => slug));
    const mayWithdraw = mayDo('organizations.manage');
    return (
      <>
        {designs.length === 0 ? (
          <Empty title="No design yet">
            A card needs one: upload a picture, or save one of the collection below to yours.
          </Empty>
        ) : (
          <ul class="covers">
            {shown.map(({ id, name, artwork, createdAt }) => (
              <li class="panel">
                <Cover title={name} artwork={artwork} />
                <strong>{name}</strong>
                {id === designs[0]?.id ? <Badge tone="good">Default</Badge> : null}
                <span class="under">
                  saved <Time at={createdAt} />
                </span>
                {mayDo('cards.send') ? <a href={url('send', {}, { design: id })}>Send a card</a> : null}
                <details>
                  <summary>
                    Id{mayAct ? ', rename, archive' : ''}
                    {mayAct && mayWithdraw ? ', withdraw' : ''}
                  </summary>
                  <p class="secret">
                    <code>{id}</code>
                  </p>
                  {mayAct ? (
                    <>
                      <Form action="rename" fields={{ design: id }}>
                        <label for={`name-${id}`}>Name</label>
                        <input id={`name-${id}`} name="name" value={name} required autocomplete="off" />
                        <p class="actions">
                          <button type="submit" class="second">
                            Rename
                          </button>
                        </p>
                      </Form>
                      <Form action="archive" fields={{ design: id }} kind="bad" button="Archive">
                        <p class="hint">No card can be sent with an archived design. This can’t be undone.</p>
                      </Form>
                      {artwork === null ? null : <Erase design={id} />}
                    </>
                  ) : null}
                  {mayWithdraw ? <Withdraw design={id} /> : null}
                </details>
              </li>
            ))}
          </ul>
        )}
        <Older to={last && url('designs', {}, { before: last.id })} />
        <Withdrawn archived={archived} />
        {mayAct ? <Archived archived={archived} after={query('archived')} /> : null}
        <section aria-labelledby="collection">
          <div class="head">
            <h2 id="collection">Collection</h2>
            <a href={url('collection')}>Its public page</a>
          </div>
          <ul class="covers">
            {offered.map(({ slug, title, artwork }) => (
              <li>
                <a href={url('collectionCard', { slug })}>
                  <Cover title={title} artwork={artwork} />
                  <strong>{title}</strong>
                </a>
                {copied.has(slug) ? (
                  <Badge tone="good">Yours</Badge>
                ) : mayAct ? (
                  <Form
                    action="copy"
                    fields={{ slug }}
                    kind="second"
                    label={`Save to yours: ${title}`}
                    button="Save to yours"
                  />
                ) : null}
              </li>
            ))}
          </ul>
        </section>
      </>
    );
  },
  actions: {
    copy: async ({ deps, by, org, url }, sent) => {
      const slug = sent('slug');
      const offered = await listCollection(deps, { limit: maxOffered, startingAfter: null });
      const title = offered.find((card) => card.slug === slug)?.title ?? slug;
      const { made } = await addDesign(deps, by, org, title, slug);
      return go(url('designs', {}, made ? { done: 'designSaved' } : {}));
    },
    rename: confirmed('designRenamed', async ({ deps, by, org }, sent) => {
      const { name } = parseValues(newDesign, { name: sent('name') });
      await changeDesign(deps, by, org, renameDesign(sent('design'), name));
    }),
    archive: confirmed('designArchived', ({ deps, by, org }, sent) =>
      changeDesign(deps, by, org, archiveDesign(sent('design'))),
    ),
    erase: confirmed('designErased', ({ deps, by, org }, sent) =>
      changeDesign(deps, by, org, eraseDesign(sent('design'))),
    ),
    withdraw: {
      may: 'organizations.manage',
      run: confirmed('designWithdrawn', async ({ deps, by, org }, sent) => {
        const { reason } = parseValues(withReason, { reason: sent('reason') });
        await changeDesign(deps, by, org, withdrawDesign(sent('design'), reason));
      }),
    },
    reinstate: {
      may: 'organizations.manage',
      run: confirmed('designReinstated', ({ deps, by, org }, sent) =>
        changeDesign(deps, by, org, withdrawDesign(sent('design'), null)),
      ),
    },
  },
});
