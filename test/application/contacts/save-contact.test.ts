import { expect } from 'chai';
import { readContact } from '../../../adapters/http/api/contact-fields.js';
import { contactWith, saveContactRecord } from '../../../application/contacts/save-contact.js';
import { contactIdOf } from '../../../domain/contact.js';
import { DomainError } from '../../../domain/errors.js';
import { streamName } from '../../../domain/ids.js';
import { makeWorld, org } from '../../support/fixtures/world.js';
import { removeContact } from '../../support/fixtures/remove-contact.js';

const codeOf = async (run: () => Promise<unknown>): Promise<string> => {
  try {
    await run();
  } catch (error) {
    if (error instanceof DomainError) return error.code;
    throw error;
  }
  return 'none';
};

for (const atomic of [true, false]) {
  describe(`saving contacts on a store that is ${atomic ? '' : 'not '}atomic`, () => {
    it('creates a contact, then replaces it under the same id', async () => {
      const world = await makeWorld({ atomic });
      const first = await saveContactRecord(
        world,
        org,
        world.command(),
        readContact({ external_id: 'c-1', name: 'Ann Lee', phone: '1' }),
      );
      const second = await saveContactRecord(
        world,
        org,
        world.command(),
        readContact({ external_id: 'c-1', name: 'Ann Fox' }),
      );
      expect([first.created, second.created]).to.deep.equal([true, false]);
      expect([first.id, second.id]).to.deep.equal([contactIdOf(org, 'c-1'), contactIdOf(org, 'c-1')]);
      expect(second.contact.details).to.deep.equal(readContact({ external_id: 'c-1', name: 'Ann Fox' }));
      expect(second.contact.createdAt).to.equal(first.contact.createdAt);
      expect(second.contact.updatedAt > first.contact.updatedAt).to.equal(true);
    });

    it('begins anew with the external_id of a contact that was deleted, and a hook finds that one', async () => {
      const world = await makeWorld({ atomic });
      const save = (name: string) =>
        saveContactRecord(world, org, world.command(), readContact({ external_id: 'c-1', name }));
      const ids: string[] = [];
      for (const name of ['Ann', 'Bo', 'Cy']) {
        const { id, contact, created } = await save(name);
        expect([created, (await contactWith(world.streams, org, 'c-1'))?.details?.name]).to.deep.equal([
          true,
          name,
        ]);
        ids.push(id);
        for (let times = 0; times < 2; times += 1)
          await removeContact(world, id, world.command(), contact.updatedAt);
        expect(await contactWith(world.streams, org, 'c-1')).to.equal(null);
      }
      expect(new Set(ids).size).to.equal(3);
    });

    it('reads few of those with an external_id that were deleted, however many were', async () => {
      const world = await makeWorld({ atomic });
      const details = readContact({ external_id: 'c-1', name: 'Ann' });
      const save = (once = false) => saveContactRecord(world, org, world.command(), details, { once });
      const remove = async ({ id, contact }: Awaited<ReturnType<typeof save>>) =>
        removeContact(world, id, world.command(), contact.updatedAt);
      for (let deleted = 0; deleted < 300; deleted += 1) await remove(await save());
      let reads = 0;
      const readStream = world.store.readStream.bind(world.store);
      world.store.readStream = (...asked) => {
        reads += 1;
        return readStream(...asked);
      };
      const found: (string | null)[] = [];
      const counted = async (look: () => Promise<string | null>): Promise<void> => {
        reads = 0;
        found.push(await look());
        expect(reads).to.be.within(1, 50);
      };
      const current = async () => (await contactWith(world.streams, org, 'c-1'))?.id ?? null;
      await counted(current);
      await counted(async () => (await save(true)).id);
      await counted(current);
      await counted(async () => (await save()).id);
      const id = contactIdOf(org, 'c-1', 300);
      expect(found).to.deep.equal([null, id, id, id]);
    });

    it('finds what a form has saved, though it was deleted since, and others', async () => {
      const world = await makeWorld({ atomic });
      const details = readContact({ external_id: 'c-1', name: 'Ann' });
      for (let deleted = 0; deleted < 20; deleted += 1) {
        const { id, contact } = await saveContactRecord(world, org, world.command(), details);
        await removeContact(world, id, world.command(), contact.updatedAt);
      }
      const form = world.command();
      const save = () => saveContactRecord(world, org, form, details, { once: true });
      const saved = await save();
      for (let { id, contact } = saved, times = 0; times < 3; times += 1) {
        await removeContact(world, id, world.command(), contact.updatedAt);
        ({ id, contact } = await saveContactRecord(world, org, world.command(), details));
      }
      expect((await save()).id).to.equal(saved.id);
    });

    it('has one effect for a form that comes twice, with and without an external_id', async () => {
      const world = await makeWorld({ atomic });
      for (const record of [{ name: 'Ann' }, { name: 'Bo', external_id: 'b' }]) {
        const form = world.command();
        const save = () => saveContactRecord(world, org, form, readContact(record), { once: true });
        const [{ id }, again] = [await save(), await save()];
        expect([again.id, again.created]).to.deep.equal([id, false]);
        expect(await world.store.readStream(streamName('contact', id), 0)).to.have.length(1);
      }
    });

    it('undoes nothing that was saved after a form, when that comes again', async () => {
      const world = await makeWorld({ atomic });
      const record = (name: string) => readContact({ name, external_id: 'b' });
      const form = world.command();
      const { id } = await saveContactRecord(world, org, form, record('Bo'), { once: true });
      await saveContactRecord(world, org, world.command(), record('Boris'));
      const { contact } = await saveContactRecord(world, org, form, record('Bo'), { once: true });
      expect(contact.details?.name).to.equal('Boris');
      await removeContact(world, id, world.command(), contact.updatedAt);
      const again = await saveContactRecord(world, org, form, record('Bo'), { once: true });
      expect([again.id, again.contact.details]).to.deep.equal([id, null]);
    });

    it('creates a new contact every time if there is no external_id', async () => {
      const world = await makeWorld({ atomic });
      const saved = await Promise.all(
        [1, 2, 3].map(() =>
          saveContactRecord(world, org, world.command(), readContact({ name: 'Ann', email: 'a@x.de' })),
        ),
      );
      expect(saved.map(({ created }) => created)).to.deep.equal([true, true, true]);
      expect(new Set(saved.map(({ id }) => id)).size).to.equal(3);
    });

    it('makes one contact of two simultaneous saves, 50 times', async () => {
      const world = await makeWorld({ atomic });
      for (let round = 0; round < 50; round += 1) {
        const saved = await Promise.all(
          ['Ann', 'Bo'].map((name) =>
            saveContactRecord(world, org, world.command(), readContact({ external_id: `c-${round}`, name })),
          ),
        );
        expect(saved.filter(({ created }) => created).length).to.equal(1);
        expect(new Set(saved.map(({ id }) => id)).size).to.equal(1);
        expect(
          (await world.store.readStream(streamName('contact', contactIdOf(org, `c-${round}`)), 0)).map(
            ({ type }) => type,
          ),
        ).to.deep.equal(['ContactCreated', 'ContactReplaced']);
      }
    });

    it('stores personal data in the event’s personal part, with the contact as its subject', async () => {
      const world = await makeWorld({ atomic });
      const { id } = await saveContactRecord(
        world,
        org,
        world.command(),
        readContact({ name: 'Ann', birthday: '1987-05-06' }),
      );
      const [event] = await world.store.readStream(streamName('contact', id), 0);
      expect(event?.metadata.subject).to.equal(id);
      expect(Object.keys(event?.data ?? {}).toSorted()).to.deep.equal(['at', 'org', 'personal']);
      expect(JSON.stringify({ ...event, position: null })).to.not.contain('1987');
    });
  });
}

describe('saving contacts while the event store is unavailable', () => {
  it('fails with create_failed for a new contact', async () => {
    const world = await makeWorld({ atomic: true });
    world.store.away = true;
    expect(
      await codeOf(() => saveContactRecord(world, org, world.command(), readContact({ name: 'Ann' }))),
    ).to.equal('create_failed');
  });
});
