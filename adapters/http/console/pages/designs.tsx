import {
  addDesign,
  erasePicture,
  removeDesign,
  renameDesign,
  withdrawDesign,
} from '../../../../application/organizations/administer.js';
import { readAccount } from '../../../../application/organizations/read-accounts.js';
import { listCollection } from '../../../../application/organizations/read-collection.js';
import { may, type Permission } from '../../../../domain/permissions.js';
import { withReason } from '../../operator/cards.js';
import { newDesign } from '../../operator/customers.js';
import { parseValues } from '../../schema/read.js';
import { Cover } from '../../web/cover.js';
import { Form, Submit } from '../../web/form.js';
import { Badge, Empty, Older, PageHeading } from '../../web/parts.js';
import { Time } from '../../web/time.js';
import { Archived, Erase, perPage, Withdraw, Withdrawn } from '../design-parts.js';
import type { NoticeName } from '../notice.js';
import { confirmed, type OrgContext, page, type Sent } from '../page.js';
import { paths } from '../../web/paths.js';

const maxOffered = 100;

/** A form about one design. */
const changing = (
  need: Permission,
  done: NoticeName,
  change: (context: OrgContext, design: string, sent: Sent) => Promise<unknown>,
) => confirmed(need, done, (context, sent) => change(context, sent('design'), sent));

const nameIn = (sent: Sent): string => parseValues(newDesign, { name: sent('name') }).name;

export const designsPage = page({
  path: paths.designs,
  may: 'designs.read',
  query: ['before', 'archived', 'done'],
  load: async ({ deps, org, role, query }) => {
    const [{ designs, archived }, offered] = await Promise.all([
      readAccount(deps, org),
      listCollection(deps, { limit: maxOffered, startingAfter: null }),
    ]);
    const mayWithdraw = may(role, 'organizations.manage');
    const from = designs.findIndex(({ id }) => id === query('before')) + 1;
    const mayChange = may(role, 'designs.write');
    return { designs, from, archived, offered, mayChange, mayWithdraw, maySend: may(role, 'cards.send') };
  },
  title: () => 'Designs',
  view: ({ designs, from, archived, offered, mayChange, mayWithdraw, maySend }, context) => {
    const { url, org } = context;
    const copied = new Set(designs.map(({ slug }) => slug));
    const shown = designs.slice(from, from + perPage);
    const last = designs.length > from + perPage ? shown.at(-1) : undefined;
    return (
      <>
        <PageHeading title="Designs">
          {mayChange ? (
            <a class="button" href={url(paths.newDesign, { org })}>
              New design
            </a>
          ) : null}
        </PageHeading>
        {designs.length === 0 ? (
          <Empty title="No design yet">
            A card needs one: upload a picture, or save one of the collection below to yours.
          </Empty>
        ) : (
          <ul class="covers">
            {shown.map(({ id, name, artwork, createdAt }, at) => (
              <li class="panel">
                <Cover title={name} artwork={artwork} />
                <strong>{name}</strong>
                {from + at === 0 ? <Badge tone="good">Default</Badge> : null}
                <span class="under">
                  saved <Time at={createdAt} />
                </span>
                {maySend ? <a href={url(paths.send, { org }, { design: id })}>Send a card</a> : null}
                <details>
                  <summary>
                    {mayChange
                      ? mayWithdraw
                        ? 'Id, rename, archive, withdraw'
                        : 'Id, rename, archive'
                      : 'Id'}
                  </summary>
                  <p class="secret">
                    <code>{id}</code>
                  </p>
                  {mayChange ? (
                    <>
                      <Form action="rename">
                        <input type="hidden" name="design" value={id} />
                        <label for={`name-${id}`}>Name</label>
                        <input id={`name-${id}`} name="name" value={name} required autocomplete="off" />
                        <p class="actions">
                          <Submit kind="second">Rename</Submit>
                        </p>
                      </Form>
                      <Form action="archive">
                        <input type="hidden" name="design" value={id} />
                        <p class="hint">No card can be sent with an archived design. This can’t be undone.</p>
                        <Submit kind="bad">Archive</Submit>
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
        <Older to={last && url(paths.designs, { org }, { before: last.id })} />
        <Withdrawn archived={archived} context={context} />
        {mayChange ? (
          <Archived archived={archived} after={context.query('archived')} context={context} />
        ) : null}
        <section aria-labelledby="collection">
          <div class="head">
            <h2 id="collection">Collection</h2>
            <a href={url(paths.collection)}>Its public page</a>
          </div>
          <ul class="covers">
            {offered.map(({ slug, title, artwork }) => (
              <li>
                <a href={url(paths.collectionCard, { slug })}>
                  <Cover title={title} artwork={artwork} />
                  <strong>{title}</strong>
                </a>
                {copied.has(slug) ? (
                  <Badge tone="good">Yours</Badge>
                ) : mayChange ? (
                  <Form action="copy">
                    <input type="hidden" name="slug" value={slug} />
                    <button type="submit" class="second" aria-label={`Save to yours: ${title}`}>
                      Save to yours
                    </button>
                  </Form>
                ) : null}
              </li>
            ))}
          </ul>
        </section>
      </>
    );
  },
  actions: {
    copy: confirmed('designs.write', 'designSaved', async ({ deps, by, org }, sent) => {
      const slug = sent('slug');
      const offered = await listCollection(deps, { limit: maxOffered, startingAfter: null });
      const title = offered.find((card) => card.slug === slug)?.title ?? slug;
      await addDesign(deps, by, org, title, slug);
    }),
    rename: changing('designs.write', 'designRenamed', ({ deps, by, org }, design, sent) =>
      renameDesign(deps, by, org, design, nameIn(sent)),
    ),
    erase: changing('designs.write', 'designErased', ({ deps, by, org }, design) =>
      erasePicture(deps, by, org, design),
    ),
    withdraw: changing('organizations.manage', 'designWithdrawn', ({ deps, by, org }, design, sent) => {
      const { reason } = parseValues(withReason, { reason: sent('reason') });
      return withdrawDesign(deps, by, org, design, reason);
    }),
    reinstate: changing('organizations.manage', 'designReinstated', ({ deps, by, org }, design) =>
      withdrawDesign(deps, by, org, design, null),
    ),
    archive: changing('designs.write', 'designArchived', ({ deps, by, org }, design) =>
      removeDesign(deps, by, org, design),
    ),
  },
});
