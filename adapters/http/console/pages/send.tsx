import { previewSend } from '../../../../application/cards/preview.js';
import {
  readBalance,
  readDesigns,
  readHandwritings,
} from '../../../../application/organizations/read-accounts.js';
import { listCollection } from '../../../../application/organizations/read-collection.js';
import { sendCard } from '../../../../application/cards/send-card.js';
import { newCard } from '../../api/card-fields.js';
import { atField } from '../../schema/read.js';
import { PageHeading } from '../../web/parts.js';
import { contactsLike } from '../find-contacts.js';
import { go, type OrgContext, page } from '../page.js';
import { cardFrom, contactOf, draftFor, draftFrom, requestFrom, type Draft } from '../send-draft.js';
import { SendForm, type SendData } from '../send-form.js';

const maxOffered = 100;
/** Older designs are sent from the page of designs. */
const maxSaved = 100;

/** The newest design is the one that is sent without a choice. */
const designsOf = async ({ deps, org }: OrgContext, chosen: string): Promise<SendData['designs']> => {
  const saved = await readDesigns(deps, org);
  const copied = new Set(saved.map(({ slug }) => slug));
  const offered = await listCollection(deps, { limit: maxOffered, startingAfter: null });
  return [
    ...saved
      .map(({ id, name, artwork }, at) => ({
        value: id,
        title: name,
        note: at === 0 ? 'newest' : '',
        artwork,
      }))
      .filter(({ value }, at) => at < maxSaved || value === chosen),
    ...offered
      .filter(({ slug }) => !copied.has(slug))
      .map(({ slug, title, artwork }) => ({ value: `card:${slug}`, title, note: 'collection', artwork })),
  ];
};

const load = async (context: OrgContext, { design_id: design }: Draft): Promise<SendData> => {
  const { deps, org, query } = context;
  const [balance, { houseHand, names }, designs, found] = await Promise.all([
    readBalance(deps, org),
    readHandwritings(deps, org),
    designsOf(context, design),
    contactsLike(context, query('find')),
  ]);
  return { balance, houseHand, hands: names, designs, find: query('find'), found, form: context.newForm() };
};

const Heading = ({ context: { url, org } }: { readonly context: OrgContext }) => (
  <PageHeading above={['Cards', url('cards', { org })]} title="Send a card" />
);

export const sendPage = page({
  path: 'send',
  may: 'cards.send',
  query: ['contact', 'design', 'find'],
  load: async (context) => {
    const filled = draftFor(await contactOf(context, context.query('contact')));
    const draft = { ...filled, design_id: context.query('design') };
    return { data: await load(context, draft), draft };
  },
  title: () => 'Send a card',
  view: ({ data, draft }, context, refused) => (
    <>
      <Heading context={context} />
      <SendForm
        data={data}
        draft={refused === null ? draft : draftFrom(refused.sent)}
        preview={null}
        context={context}
      />
    </>
  ),
  actions: {
    preview: {
      once: false,
      run: async (context, sent) => {
        const draft = draftFrom(sent);
        const wanted = await cardFrom(context, draft);
        const preview = await previewSend(
          context.deps,
          await requestFrom(context, draft, sent('form')),
          wanted,
        );
        // The form that was typed into, so that a card is not sent twice from two previews of it.
        const data = { ...(await load(context, draft)), form: sent('form') };
        const body = (
          <>
            <Heading context={context} />
            <SendForm data={data} draft={draft} preview={preview} context={context} />
          </>
        );
        return { kind: 'show', title: 'Send a card', body };
      },
    },
    send: {
      run: async (context, sent) => {
        const draft = draftFrom(sent);
        const request = await requestFrom(context, draft, sent('form'));
        try {
          const { code } = await sendCard(context.deps, {
            ...request,
            draft: () => cardFrom(context, draft),
          });
          return go(context.url('card', { code }));
        } catch (error) {
          throw atField(newCard, error);
        }
      },
    },
  },
});
