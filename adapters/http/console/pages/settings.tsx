import { changeOrganization } from '../../../../application/organizations/administer.js';
import { readAccount, readHandwritings } from '../../../../application/organizations/read-accounts.js';
import { layOut } from '../../../../domain/letter-layout.js';
import { may } from '../../../../domain/permissions.js';
import { organizationChange } from '../../operator/organizations.js';
import { parseValues } from '../../schema/read.js';
import { Field, Form } from '../../web/form.js';
import { Panel } from '../../web/parts.js';
import { SheetLine } from '../../web/letter.js';
import { confirmed, page } from '../page.js';
import { Tabs } from '../tabs.js';

const sample = 'Thank you, Ada';

export const settingsPage = page({
  path: 'settings',
  may: 'cards.read',
  mayAct: 'settings.write',
  query: ['done'],
  load: async ({ deps, org, role }) => {
    const [{ name }, { houseHand, names }] = await Promise.all([
      readAccount(deps, org),
      readHandwritings(deps, org),
    ]);
    return { name, houseHand, names, mayWrite: may(role, 'settings.write') };
  },
  title: () => 'Settings',
  view: ({ name, houseHand, names, mayWrite }, { org, role, timeZone }, refused) => {
    const chosen = refused?.sent('house_hand') ?? houseHand;
    const facts = (
      <fieldset>
        <legend>House hand</legend>
        <p class="hint">It writes every card that doesn’t name another.</p>
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
      </fieldset>
    );
    return (
      <>
        <Tabs org={org} role={role} of="Settings" here="Organization" />
        <Panel id="organization" title="Organization">
          {mayWrite ? (
            <Form action="save" button="Save">
              <Field name="name" label="Name" value={name} />
              {facts}
            </Form>
          ) : (
            <>
              <p>{name}</p>
              {facts}
            </>
          )}
        </Panel>
        <p class="quiet">All times are in the time zone {timeZone.replaceAll('_', ' ')}.</p>
      </>
    );
  },
  actions: {
    save: confirmed('settingsSaved', async ({ deps, by, org }, sent) => {
      const sentFields = { name: sent('name'), house_hand: sent('house_hand') };
      const { name, house_hand: houseHand } = parseValues(organizationChange, sentFields);
      await changeOrganization(deps, by, org, { name, houseHand, isSuspended: null });
    }),
  },
});
