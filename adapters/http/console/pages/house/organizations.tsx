import { openOrganization } from '../../../../../application/organizations/administer.js';
import { inviteMember } from '../../../../../application/access/people.js';
import { listOrganizations } from '../../../../../application/organizations/read-organizations.js';
import { newMember } from '../../../operator/people.js';
import { newOrganization } from '../../../operator/organizations.js';
import { parseValues } from '../../../schema/read.js';
import { Field, Form, Search } from '../../../web/form.js';
import { Badge, Empty, Older, PageHeading, Panel, Table } from '../../../web/parts.js';
import { Time } from '../../../web/time.js';
import { linkShown } from '../../members.js';
import { type HouseContext, page, pageAfter, type Sent } from '../../page.js';
import { shownPart, wantedPart } from '../../paging.js';

/** Read before anything is made, so that a wrong address refuses all of it. */
const ownerIn = (sent: Sent) =>
  parseValues(newMember, { email: sent('email'), name: sent('owner'), role: 'owner' });

const make = async (context: HouseContext, sent: Sent) => {
  const { deps, by, url } = context;
  const wanted = { name: sent('name'), house_hand: sent('house_hand') };
  const { name, house_hand: hand } = parseValues(newOrganization, wanted);
  const owner = ownerIn(sent);
  const { id } = await openOrganization(deps, by, name, hand);
  const { token, expires } = await inviteMember(deps, by, id, owner);
  return linkShown(context, {
    title: `The invitation of ${owner.name}`,
    path: url('join', { organization: id, invitation: token }),
    ends: expires,
    back: url('home', { org: id }),
  });
};

export const organizationsPage = page({
  path: 'house',
  may: 'organizations.manage',
  query: ['q', 'before', 'done'],
  load: async ({ deps, query }) => {
    const q = query('q');
    const rows = await listOrganizations(deps, { name: q || null, ...wantedPart(query) });
    return { q, ...shownPart(rows) };
  },
  title: () => 'Organizations',
  view: ({ q, shown, last }, { url }) => (
    <>
      <PageHeading title="Organizations" />
      <Search name="q" label="Name begins with" value={q} required={false} />
      {shown.length === 0 ? (
        <Empty title="No organization is like this">
          Make the first one below, or look for another name.
        </Empty>
      ) : (
        <Table
          label="Organizations"
          rows={shown}
          columns={[
            {
              name: 'Organization',
              kind: 'head',
              cell: ({ id, name, suspendedAt }) => (
                <>
                  <a href={url('home', { org: id })}>{name}</a>{' '}
                  {suspendedAt === null ? null : <Badge tone="warn">Suspended</Badge>}
                  <span class="under mono">{id}</span>
                </>
              ),
            },
            { name: 'Credits', kind: 'number', cell: ({ balance }) => balance.toLocaleString('en-US') },
            { name: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
            {
              name: 'More',
              cell: ({ id, name }) => (
                <a href={url('credits', { org: id })} aria-label={`Add credits for ${name}`}>
                  Add credits
                </a>
              ),
            },
          ]}
        />
      )}
      <Older to={last && url('house', {}, { before: last.id, ...(q !== '' && { q }) })} />
      <Panel id="new" title="New organization">
        <Form action="make" button="Create organization">
          <div class="beside">
            <Field name="name" label="Name" />
            <Field name="house_hand" label="House hand" required={false} />
          </div>
          <div class="beside">
            <Field name="owner" label="First owner" />
            <Field name="email" label="E-mail" type="email" />
          </div>
          <p class="hint">The owner’s invitation is shown once, for you to pass on.</p>
        </Form>
      </Panel>
    </>
  ),
  actions: {
    make: { again: (context) => pageAfter(context, 'linkMade'), run: make },
  },
});
