import { z } from 'zod';
import {
  offerHandwriting,
  publishCollectionCard,
} from '../../../../../application/organizations/administer.js';
import {
  listAllHandwritings,
  listWholeCollection,
} from '../../../../../application/organizations/operator-lists.js';
import { handwritingName, slugAndTitle } from '../../../operator/catalogue.js';
import { parseValues } from '../../../schema/read.js';
import { Field, Form } from '../../../web/form.js';
import { ActionLink, Badge, ButtonLink, Panel } from '../../../web/parts.js';
import { confirmed, type KnownContext, page } from '../../page.js';

const maxListed = 200;
const all = { limit: maxListed, startingAfter: null };

const hand = z.object({ name: handwritingName });

const putCard = (active: boolean) =>
  confirmed<KnownContext>('catalogueChanged', async ({ deps, by }, sent) => {
    const { slug, title } = parseValues(slugAndTitle, { slug: sent('slug'), title: sent('title') });
    await publishCollectionCard(deps, by, slug, title, active);
  });

const putHand = (active: boolean) =>
  confirmed<KnownContext>('catalogueChanged', async ({ deps, by }, sent) => {
    const { name } = parseValues(hand, { name: sent('name') });
    await offerHandwriting(deps, by, name, active);
  });

export const cataloguePage = page({
  path: 'catalogue',
  may: 'catalogue.write',
  query: ['done'],
  load: async ({ deps }) => {
    const [hands, cards] = await Promise.all([
      listAllHandwritings(deps, all),
      listWholeCollection(deps, all),
    ]);
    return { hands: hands.toReversed(), cards };
  },
  title: () => 'Catalogue',
  view: ({ hands, cards }, { url }) => (
    <>
      <div class="grid">
        <Panel id="hands" title="Handwritings">
          <ul class="rows">
            {hands.map(({ name, active }) => (
              <li>
                <span>
                  {name} {active ? <Badge tone="good">On offer</Badge> : <Badge tone="idle">Withdrawn</Badge>}
                </span>
                <span class="end">
                  <Form
                    action={active ? 'withdrawHand' : 'offerHand'}
                    fields={{ name }}
                    kind="second"
                    label={`${active ? 'Withdraw' : 'Offer'} ${name}`}
                    button={active ? 'Withdraw' : 'Offer'}
                  />
                </span>
              </li>
            ))}
          </ul>
          <Form action="offerHand" kind="second" button="Offer it">
            <Field name="name" label="New handwriting" />
          </Form>
        </Panel>
        <Panel id="cards" title="Collection">
          <ul class="rows">
            {cards.map(({ slug, title, active }) => (
              <li>
                <span>
                  {title} {active ? null : <Badge tone="idle">Withdrawn</Badge>}
                  <span class="under mono">card:{slug}</span>
                </span>
                <span class="end actions">
                  <ButtonLink
                    to={url('newCollectionCard', {}, { slug })}
                    kind="second"
                    label={`Picture of ${title}`}
                    words="Picture"
                  />
                  <Form
                    action={active ? 'withdraw' : 'publish'}
                    fields={{ slug, title }}
                    kind="second"
                    label={`${active ? 'Withdraw' : 'Publish'} ${title}`}
                    button={active ? 'Withdraw' : 'Publish'}
                  />
                </span>
              </li>
            ))}
          </ul>
          <ActionLink kind="second" to={url('newCollectionCard')} words="New card" />
        </Panel>
      </div>
      <p class="quiet">Cards that were sent with what is withdrawn keep it.</p>
    </>
  ),
  actions: {
    publish: putCard(true),
    withdraw: putCard(false),
    offerHand: putHand(true),
    withdrawHand: putHand(false),
  },
});
