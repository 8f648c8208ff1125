import { changeCard } from '../../../../../application/cards/change-card.js';
import { heldOldestFirst, codeFrom } from '../../../../../application/cards/read-cards.js';
import { readAccount, readBalance } from '../../../../../application/organizations/read-accounts.js';
import { release, cancel } from '../../../../../domain/card.js';
import { Form } from '../../../web/form.js';
import { count, Danger, Empty, Older, Time } from '../../../web/parts.js';
import { addressee, SmallFront } from '../../card-parts.js';
import { CardLink, reasonInWords } from '../../card-words.js';
import { ownersOf } from '../../floor-data.js';
import { confirmed, page, type KnownContext, type Sent } from '../../page.js';
import { partAfter } from '../../paging.js';

const cardIn = (sent: Sent) => ({ code: codeFrom(sent('card')), org: null });

export const heldPage = page({
  path: 'held',
  may: 'cards.release',
  query: ['from', 'done'],
  load: async (context) => {
    const { deps, query } = context;
    const held = await heldOldestFirst(deps.readModels);
    const { shown, last } = partAfter(held, ({ code }) => code === query('from'));
    const owners = await ownersOf(shown, async (org) => ({
      ...(await readAccount(deps, org)),
      balance: await readBalance(deps, org),
    }));
    return { shown, owners, last };
  },
  title: () => 'Held cards',
  view: ({ shown, owners, last }, { url }) => (
    <>
      {shown.length === 0 ? (
        <Empty title="Nothing is held">Cards that need a person stand here, of all organizations.</Empty>
      ) : (
        shown.map((card) => {
          const owner = owners.get(card.org);
          return (
            <section class="panel" aria-label={card.code}>
              <div class="head">
                <h2>
                  <SmallFront card={card} owner={owner} /> <CardLink code={card.code} />
                </h2>
                <span>{owner?.name}</span>
              </div>
              <p>
                {reasonInWords(card.heldReason)}
                <span class="under">
                  {addressee(card)} · since <Time at={card.pendingSince} />
                </span>
              </p>
              <div class="actions">
                <Form
                  action="release"
                  fields={{ card: card.code }}
                  label={`Release ${card.code}`}
                  button="Release"
                />
                <span class="quiet small">
                  Spends 1 of {owner && count(owner.balance)} credits of {owner?.name}. What the pen can’t
                  write, or the card has no room for, is left out: the sheets say what to finish by hand.
                </span>
              </div>
              <Danger label={`Cancel ${card.code}`}>
                <p>Nothing was charged. This can’t be undone.</p>
                <Form action="cancel" fields={{ card: card.code }} button="Cancel the card" />
              </Danger>
            </section>
          );
        })
      )}
      <Older to={last && url('held', {}, { from: last.code })} words="Newer" />
    </>
  ),
  actions: {
    release: confirmed<KnownContext>('cardReleased', ({ deps, command }, sent) =>
      changeCard(deps, cardIn(sent), command(), release),
    ),
    cancel: {
      may: 'cards.cancel',
      run: confirmed<KnownContext>('cardCancelled', ({ deps, command }, sent) =>
        changeCard(deps, cardIn(sent), command(), cancel),
      ),
    },
  },
});
