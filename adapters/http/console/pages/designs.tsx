import {
  addDesign,
  erasePicture,
  removeDesign,
  renameDesign,
} from '../../../../application/organizations/administer.js';
import { readDesigns } from '../../../../application/organizations/read-accounts.js';
import { listCollection } from '../../../../application/organizations/read-collection.js';
import { may } from '../../../../domain/permissions.js';
import { newDesign } from '../../operator/customers.js';
import { parseValues } from '../../schema/read.js';
import { Cover } from '../../web/cover.js';
import { Form, Refusal, Submit } from '../../web/form.js';
import { Badge, Empty, PageHeading } from '../../web/parts.js';
import { Time } from '../../web/time.js';
import { newForm } from '../answer.js';
import { Notice, type NoticeName } from '../notice.js';
import { go, page, type OrgContext, type Sent } from '../page.js';
import { paths } from '../../web/paths.js';

const maxOffered = 100;

const back = ({ url, org }: OrgContext, done: NoticeName) => go(url(paths.designs, { org }, { done }));

const nameIn = (sent: Sent): string => parseValues(newDesign, { name: sent('name') }).name;

export const designsPage = page({
  path: paths.designs,
  may: 'designs.read',
  query: ['done'],
  load: async ({ deps, org, role }) => {
    const [designs, offered] = await Promise.all([
      readDesigns(deps, org),
      listCollection(deps, { limit: maxOffered, startingAfter: null }),
    ]);
    return { designs, offered, mayChange: may(role, 'designs.write') };
  },
  title: () => 'Designs',
  view: ({ designs, offered, mayChange }, context, refused) => {
    const { url, org, timeZone, query } = context;
    const copied = new Set(designs.map(({ slug }) => slug));
    return (
      <>
        <PageHeading title="Designs">
          {mayChange ? (
            <a class="button" href={url(paths.newDesign, { org })}>
              New design
            </a>
          ) : null}
        </PageHeading>
        <Notice word={query('done')} />
        <Refusal refused={refused} />
        {designs.length === 0 ? (
          <Empty title="No design yet">
            A card needs one: upload a picture, or save one of the collection below to yours.
          </Empty>
        ) : (
          <ul class="covers">
            {designs.map(({ id, name, artwork, createdAt }, at) => (
              <li class="panel">
                <Cover title={name} name={id} artwork={artwork} url={url} />
                <strong>{name}</strong>
                {at === 0 ? <Badge tone="good">Default</Badge> : null}
                <span class="under">
                  saved <Time at={createdAt} zone={timeZone} />
                </span>
                <details>
                  <summary>{mayChange ? 'Id, rename, archive' : 'Id'}</summary>
                  <p class="secret">
                    <code>{id}</code>
                  </p>
                  {mayChange ? (
                    <>
                      <Form action="rename" id={newForm(context)}>
                        <input type="hidden" name="design" value={id} />
                        <label for={`name-${id}`}>Name</label>
                        <input id={`name-${id}`} name="name" value={name} required autocomplete="off" />
                        <p class="actions">
                          <Submit kind="second">Rename</Submit>
                        </p>
                      </Form>
                      <Form action="archive" id={newForm(context)}>
                        <input type="hidden" name="design" value={id} />
                        <p class="hint">No card can be sent with an archived design. This can’t be undone.</p>
                        <Submit kind="bad">Archive</Submit>
                      </Form>
                      {artwork === null ? null : (
                        <Form action="erase" id={newForm(context)}>
                          <input type="hidden" name="design" value={id} />
                          <p class="hint">
                            Removes the picture within an hour, also from cards that are not printed yet, and
                            archives the design.
                          </p>
                          <Submit kind="bad">Erase the picture</Submit>
                        </Form>
                      )}
                    </>
                  ) : null}
                </details>
              </li>
            ))}
          </ul>
        )}
        <section aria-labelledby="collection">
          <div class="head">
            <h2 id="collection">Collection</h2>
            <a href={url(paths.collection)}>Its public page</a>
          </div>
          <ul class="covers">
            {offered.map(({ slug, title, artwork }) => (
              <li>
                <a href={url(paths.collectionCard, { slug })}>
                  <Cover title={title} name={slug} artwork={artwork} url={url} />
                  <strong>{title}</strong>
                </a>
                {copied.has(slug) ? (
                  <Badge tone="good">Yours</Badge>
                ) : mayChange ? (
                  <Form action="copy" id={newForm(context)}>
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
    copy: {
      may: 'designs.write',
      run: async (context, sent) => {
        const { deps, by, org } = context;
        const slug = sent('slug');
        const offered = await listCollection(deps, { limit: maxOffered, startingAfter: null });
        const title = offered.find((card) => card.slug === slug)?.title ?? slug;
        await addDesign(deps, by, org, title, slug);
        return back(context, 'designSaved');
      },
    },
    rename: {
      may: 'designs.write',
      run: async (context, sent) => {
        await renameDesign(context.deps, context.by, context.org, sent('design'), nameIn(sent));
        return back(context, 'designRenamed');
      },
    },
    erase: {
      may: 'designs.write',
      run: async (context, sent) => {
        await erasePicture(context.deps, context.by, context.org, sent('design'));
        return back(context, 'designErased');
      },
    },
    archive: {
      may: 'designs.write',
      run: async (context, sent) => {
        await removeDesign(context.deps, context.by, context.org, sent('design'));
        return back(context, 'designArchived');
      },
    },
  },
});
