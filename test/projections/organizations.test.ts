import { expect } from 'chai';
import type { StreamName } from '../../domain/ids.js';
import { foldDocument } from '../../application/projecting/read-your-writes.js';
import { organizations } from '../../projections/organizations.js';
import { logged } from '../support/fixtures/logged-event.js';

const stream = 'organization-o-1' as StreamName;

/** Events of processes whose clocks differ: each seems to have happened before the one before it. */
const folded = (...events: readonly { readonly type: string; readonly data: object }[]) =>
  foldDocument(
    organizations,
    [{ type: 'OrganizationCreated', data: { name: 'Acme', houseHand: 'Everyday' } }, ...events].map(
      (event, revision) => {
        const { metadata, ...rest } = logged(stream, event, revision);
        const occurredAt = new Date(Date.UTC(2026, 0, 30 - revision)).toISOString();
        return { ...rest, metadata: { ...metadata, occurredAt: occurredAt as typeof metadata.occurredAt } };
      },
    ),
  );

describe('the designs of an organization', () => {
  const saved = (id: string) => ({
    type: 'DesignSaved',
    data: { design: { id, name: id, slug: null, artwork: null } },
  });
  const ids = (list: readonly { readonly id: string }[] = []) => list.map(({ id }) => id);

  it('stand in the order in which they were saved, newest first, whatever the clocks say', async () => {
    const three = [saved('one'), saved('two'), saved('three')];
    const renamed = await folded(...three, { type: 'DesignRenamed', data: { id: 'two', name: '2' } });
    expect(ids(renamed?.designs)).to.deep.equal(['three', 'two', 'one']);
    const two = { id: 'two', reason: 'Not theirs' };
    const withdrawn = [
      ...three,
      { type: 'DesignArchived', data: { id: 'one' } },
      { type: 'DesignWithdrawn', data: two },
      saved('four'),
    ];
    expect(ids((await folded(...withdrawn))?.designs)).to.deep.equal(['four', 'three']);
    expect(ids((await folded(...withdrawn))?.archived)).to.deep.equal(['two', 'one']);
    const back = await folded(...withdrawn, { type: 'DesignReinstated', data: { id: 'two' } });
    expect(ids(back?.designs)).to.deep.equal(['four', 'three', 'two']);
  });
});
