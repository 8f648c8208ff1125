import { changeOrganization } from '../../../../application/organizations/administer.js';
import { readAccount, readHandwritings } from '../../../../application/organizations/read-accounts.js';
import { layOut } from '../../../../domain/letter-layout.js';
import { organizationChange } from '../../operator/organizations.js';
import { parseValues } from '../../schema/read.js';
import { Field, Form, Group, useSent } from '../../web/form.js';
import { Panel } from '../../web/parts.js';
import { SheetLine } from '../../web/letter.js';
import { refusedAt } from '../admit.js';
import { confirmed, type OrgContext, page, type Sent } from '../page.js';

const sample = 'Thank you, Ada';

interface HandsProps {
  readonly houseHand: string;
  /** The handwritings on offer. */
  readonly names: readonly string[];
  readonly mayWrite: boolean;
}

const Hands = ({ houseHand, names, mayWrite }: HandsProps) => {
  const chosen = useSent('house_hand') ?? houseHand;
  return (
    <Group name="house_hand" legend="Handwriting" hint="It writes every card that doesn’t name another.">
      {names.includes(houseHand) ? null : (
        <p class="note warning">{houseHand} is withdrawn. It writes until another one is chosen.</p>
      )}
      <div class="hands">
        {names.map((hand) => (
          <label class="check">
            <input
              type="radio"
              name="house_hand"
              value={hand}
              checked={hand === chosen}
              disabled={!mayWrite}
            />
            <span>
              {hand}
              <SheetLine hand={hand} layout={layOut(sample, hand)} />
            </span>
          </label>
        ))}
      </div>
    </Group>
  );
};

/** Changes one field alone: the others may have changed since the page was shown. */
const change =
  (field: 'name' | 'house_hand') =>
  async ({ deps, by, org }: OrgContext, sent: Sent): Promise<void> => {
    const { name, house_hand: houseHand } = parseValues(organizationChange, { [field]: sent(field) });
    const wanted = { name, houseHand, isSuspended: null };
    await changeOrganization(deps, by, org, wanted).catch(refusedAt(organizationChange));
  };

export const settingsPage = page({
  path: 'settings',
  may: 'cards.read',
  mayAct: 'settings.write',
  query: ['done'],
  load: ({ deps, org }) => Promise.all([readAccount(deps, org), readHandwritings(deps, org)]),
  title: () => 'Settings',
  view: ([{ name }, hands], { timeZone, mayAct }) => (
    <>
      <Panel id="organization" title="Organization">
        {mayAct ? (
          <Form action="rename" button="Save the name">
            <Field name="name" label="Name" value={name} />
          </Form>
        ) : (
          <p>{name}</p>
        )}
      </Panel>
      <Panel id="house-hand" title="House hand">
        {mayAct ? (
          <Form action="chooseHand" button="Save the house hand">
            <Hands {...hands} mayWrite />
          </Form>
        ) : (
          <Hands {...hands} mayWrite={false} />
        )}
      </Panel>
      <p class="quiet">All times are in the time zone {timeZone.replaceAll('_', ' ')}.</p>
    </>
  ),
  actions: {
    rename: confirmed('organizationRenamed', change('name')),
    chooseHand: confirmed('houseHandChosen', change('house_hand')),
  },
});
