import { isSpent } from '../../../../application/access/forms.js';
import { previewSend } from '../../../../application/cards/preview.js';
import { sendCard } from '../../../../application/cards/send-card.js';
import { newCard } from '../../api/card-fields.js';
import { refusedAt } from '../admit.js';
import { go, type OrgContext, page } from '../page.js';
import type { Heading } from '../heading.js';
import { contactOf } from '../contact-parts.js';
import { cardFrom, draftFor, draftFrom, loadSend, requestFrom } from '../send-draft.js';
import { SendForm } from '../send-form.js';

const title = 'Send a card';
const heading = (_: unknown, { url }: OrgContext): Heading => ({
  above: ['Cards', url('cards')],
});

export const sendPage = page({
  path: 'send',
  may: 'cards.send',
  query: ['contact', 'design', 'find'],
  load: async (context) => {
    const filled = draftFor(await contactOf(context, context.query('contact')));
    const draft = { ...filled, design_id: context.query('design') };
    return { data: await loadSend(context, draft), draft };
  },
  title: () => title,
  heading,
  view: ({ data, draft }, { refused }) => {
    const shown = refused === null ? draft : draftFrom(refused.sent);
    return <SendForm data={data} draft={shown} preview={null} />;
  },
  actions: {
    preview: {
      once: false,
      run: async (context, sent) => {
        const draft = draftFrom(sent);
        const wanted = await cardFrom(context, draft);
        const loaded = await loadSend(context, draft);
        // The form that was typed into, so that a card is not sent twice from two previews of it.
        const isOver = await isSpent(context.deps, sent('form'), context.visitor.session.owner);
        const data = isOver ? loaded : { ...loaded, form: sent('form') };
        const request = await requestFrom(context, draft, data.form);
        const preview = await previewSend(context.deps, request, wanted);
        const body = <SendForm data={data} draft={draft} preview={preview} />;
        return { kind: 'show', title, heading: heading(null, context), body };
      },
    },
    send: async (context, sent) => {
      const draft = draftFrom(sent);
      const request = await requestFrom(context, draft, sent('form'));
      const wanted = { ...request, draft: () => cardFrom(context, draft) };
      const { code } = await sendCard(context.deps, wanted).catch(refusedAt(newCard));
      return go(context.url('card', { code }));
    },
  },
});
