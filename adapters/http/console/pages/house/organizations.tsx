import { inviteMember } from '../../../../../application/access/people.js';
import { openOrganization } from '../../../../../application/organizations/administer.js';
import { listOrganizations } from '../../../../../application/organizations/read-organizations.js';
import { newOrganization } from '../../../operator/organizations.js';
import { newMember } from '../../../operator/people.js';
import { parseValues } from '../../../schema/read.js';
import { Field, FormPanel, Search } from '../../../web/form.js';
import { Badge, count, Empty, Older, Table, Time } from '../../../web/parts.js';
import { linkShown } from '../../members.js';
import { type KnownContext, page, type Sent, shownOnce } from '../../page.js';
import { filteredBy, partOf } from '../../paging.js';

const make = async (context: KnownContext, sent: Sent) => {
  const { deps, by, url } = context;
  const wanted = { name: sent('name'), house_hand: sent('house_hand') };
  const { name, house_hand: hand } = parseValues(newOrganization, wanted);
  // Read before anything is made, so that a wrong address refuses all of it.
  const owner = parseValues(newMember, { email: sent('email'), name: sent('owner'), role: 'owner' });
  const { id } = await openOrganization(deps, by, name, hand);
  const { token, expires } = await inviteMember(deps, by, id, owner);
  const link = url('join', { organization: id, invitation: token });
  return linkShown(context, `The invitation of ${owner.name}`, link, expires, url('home', { org: id }));
};

export const organizationsPage = page({
  path: 'house',
  may: 'organizations.manage',
  query: ['q', 'before', 'done'],
  load: ({ deps, query }) =>
    partOf(query, (part) => listOrganizations(deps, { name: query('q') || null, ...part })),
  title: () => 'Organizations',
  view: ({ shown, last }, context) => (
    <>
      <Search name="q" label="Name begins with" value={context.query('q')} optional />
      <Table
        label="Organizations"
        rows={shown}
        columns={{
          Organization: ({ id, name, suspendedAt }) => (
            <>
              <a href={context.url('home', { org: id })}>{name}</a>{' '}
              {suspendedAt === null ? null : <Badge tone="warn">Suspended</Badge>}
              <span class="under mono">{id}</span>
            </>
          ),
          Credits: ({ balance }) => count(balance),
          Since: ({ createdAt }) => <Time at={createdAt} />,
          More: ({ id, name }) => (
            <a href={context.url('credits', { org: id })} aria-label={`Add credits for ${name}`}>
              Add credits
            </a>
          ),
        }}
        numbers={['Credits']}
      >
        <Empty title="No organization is like this">
          Make the first one below, or look for another name.
        </Empty>
      </Table>
      <Older to={last && filteredBy(context, ['q'], { before: last.id })} />
      <FormPanel id="new" title="New organization" action="make" button="Create organization">
        <div class="beside">
          <Field name="name" label="Name" />
          <Field name="house_hand" label="House hand" optional />
        </div>
        <div class="beside">
          <Field name="owner" label="First owner" />
          <Field name="email" label="E-mail" type="email" />
        </div>
        <p class="hint">The owner’s invitation is shown once, for you to pass on.</p>
      </FormPanel>
    </>
  ),
  actions: {
    make: shownOnce<KnownContext>('linkMade', make),
  },
});
