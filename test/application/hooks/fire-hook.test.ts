import { expect } from 'chai';
import { readContact } from '../../../adapters/http/api/contact-fields.js';
import { readHookPayload } from '../../../adapters/http/api/hook-payload.js';
import type { JsonObject } from '../../../adapters/http/schema/read.js';
import { MemoryHookCalls } from '../../support/memory/hook-calls.js';
import { MemoryReadModels } from '../../support/memory/read-models.js';
import { execute } from '../../../application/writing/execute.js';
import { fireHook, openHook } from '../../../application/hooks/fire-hook.js';
import {
  listHookCalls,
  listHooks,
  makeHook,
  updateHook,
  type HookDeps,
  changeHook,
} from '../../../application/hooks/hooks.js';
import { saveContactRecord } from '../../../application/contacts/save-contact.js';
import { collectionCard, putCollectionCard } from '../../../domain/catalogue.js';
import { addToDoNotMail, doNotMail, doNotMailId } from '../../../domain/do-not-mail.js';
import { DomainError } from '../../../domain/errors.js';
import { deleteHook, type HookSettings } from '../../../domain/hook.js';
import { OrganizationId, Uuid } from '../../../domain/ids.js';
import { archiveDesign, organization } from '../../../domain/organization.js';
import { balanceOf, designId, makeWorld, org, type World } from '../../support/fixtures/world.js';

const other = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000002');
const bare: HookSettings = { label: null, design: null, template: null, signedBy: null };
const recipient = { name: 'Ann Lee', line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' };

const keeping = (world: World): HookDeps => ({
  ...world,
  readModels: new MemoryReadModels(),
  hookCalls: new MemoryHookCalls(),
});

const make = (world: World, settings: Partial<HookSettings> = {}) =>
  makeHook(keeping(world), org, { ...bare, ...settings }, world.command());

const fire = (world: World, id: Uuid, payload: JsonObject) =>
  fireHook(world, id, readHookPayload(payload), (hook) => ({
    ...world.command(),
    org: hook.org,
    actor: { kind: 'hook', id },
  }));

const refusalOf = async (run: Promise<unknown>): Promise<string> => {
  try {
    await run;
  } catch (error) {
    if (error instanceof DomainError) return `${error.code} ${error.param}`;
    throw error;
  }
  return 'none';
};

const letterOf = async (world: World, id: Uuid, payload: JsonObject) => {
  const { event } = await fire(world, id, payload);
  return { type: event.type, message: event.data.personal?.message, order: event.data.order };
};

describe('firing a hook', () => {
  it('sends one card for one credit, with the hook as its source', async () => {
    const world = await makeWorld({ atomic: true, credits: 2 });
    const { id } = await make(world);
    const { type, message, order } = await letterOf(world, id, { ...recipient, message: 'Hi', id: 17 });
    expect([type, message, order?.reference, order?.source, order?.design.id, order?.contact]).to.deep.equal([
      'CardScheduled',
      'Hi',
      '17',
      { kind: 'hook', id },
      designId,
      null,
    ]);
    expect(await balanceOf(world)).to.equal(1);
  });

  it('refuses a paused, deleted or unknown hook, and sends through a resumed one', async () => {
    const world = await makeWorld({ atomic: true, credits: 2 });
    const { id } = await make(world);
    await updateHook(keeping(world), org, id, { paused: true }, world.command());
    expect(await refusalOf(fire(world, id, recipient))).to.equal('hook_disabled null');
    await updateHook(keeping(world), org, id, { paused: false }, world.command());
    expect((await letterOf(world, id, { ...recipient, message: 'Hi' })).type).to.equal('CardScheduled');
    await changeHook(keeping(world), id, world.command(), deleteHook(org));
    expect(await refusalOf(fire(world, id, recipient))).to.equal('invalid_hook null');
    expect(
      await refusalOf(fire(world, Uuid.parse('00000000-0000-4000-8000-000000000000'), recipient)),
    ).to.equal('invalid_hook null');
  });

  it('fills in the template, unless a message is sent', async () => {
    const world = await makeWorld({ atomic: true, credits: 9 });
    const { id } = await make(world, {
      template: 'Dear {{first_name}}, {{item}}! {{sender_name}}',
      signedBy: 'Bo',
    });
    expect((await letterOf(world, id, { ...recipient, item: 'cake' })).message).to.equal(
      'Dear Ann, cake! Bo',
    );
    expect((await letterOf(world, id, { ...recipient, item: 'cake', message: ' ' })).message).to.equal(
      'Dear Ann, cake! Bo',
    );
    expect((await letterOf(world, id, { ...recipient, message: 'Hi' })).message).to.equal('Hi');
    expect(await refusalOf(fire(world, id, recipient))).to.equal('template_incomplete item');
    expect(await refusalOf(fire(world, id, { ...recipient, item: '{{x}}' }))).to.equal(
      'broken_merge_field null',
    );
    expect(await refusalOf(fire(world, id, { ...recipient, item: 'x'.repeat(500) }))).to.equal(
      'message_too_long null',
    );
    expect(await refusalOf(fire(world, id, { ...recipient, item: 'x', message: 5 }))).to.equal(
      'missing_message message',
    );
  });

  it('reports one refusal: the recipient’s, then the message’s, then the others', async () => {
    const world = await makeWorld({ atomic: true, credits: 9 });
    const { id } = await make(world, { template: '{{item}}' });
    const bad = { arrive_on: 'soon', handwriting: 'nobody', design_id: 'none' };
    expect(await refusalOf(fire(world, id, { ...bad }))).to.equal('invalid_recipient recipient.name');
    expect(await refusalOf(fire(world, id, { ...recipient, zip: 78701, ...bad }))).to.equal(
      'invalid_recipient recipient.zip',
    );
    expect(await refusalOf(fire(world, id, { ...recipient, ...bad }))).to.equal('template_incomplete item');
    expect(await refusalOf(fire(world, id, { ...recipient, ...bad, item: 1 }))).to.equal(
      'invalid_date arrive_on',
    );
    expect(await refusalOf(fire(world, id, { ...recipient, ...bad, item: 1, arrive_on: '' }))).to.equal(
      'unknown_handwriting null',
    );
    expect(
      await refusalOf(fire(world, id, { ...recipient, ...bad, item: 1, arrive_on: null, handwriting: ' ' })),
    ).to.equal('design_not_found null');
    expect(await balanceOf(world)).to.equal(9);
  });

  it('is refused without a message if the hook has no template', async () => {
    const world = await makeWorld({ atomic: true, credits: 1 });
    const { id } = await make(world);
    expect(await refusalOf(fire(world, id, recipient))).to.equal('missing_message message');
  });

  it('takes company, job title and years from the contact with the external_id, and records it in the card', async () => {
    const world = await makeWorld({ atomic: true, credits: 9 });
    const { id } = await make(world, { template: '{{company}}/{{job_title}}/{{years}}' });
    const record = readContact({
      external_id: 'c-1',
      name: 'Ann',
      company: 'Acme',
      job_title: 'CTO',
      work_anniversary: '2000-01-01',
    });
    const saved = await saveContactRecord(world, org, world.command(), record);
    const years = new Date(world.clock.now()).getUTCFullYear() - 2000;
    const { message, order } = await letterOf(world, id, {
      ...recipient,
      external_id: 'c-1',
      job_title: 'CEO',
    });
    expect([message, order?.contact]).to.deep.equal([`Acme/CEO/${years}`, saved.id]);
    expect(await refusalOf(fire(world, id, { ...recipient, external_id: 'C-1' }))).to.equal(
      'template_incomplete company',
    );
    await saveContactRecord(
      world,
      other,
      world.command(),
      readContact({ external_id: 'c-2', name: 'Eve', company: 'Evil' }),
    );
    expect(
      await refusalOf(fire(world, id, { ...recipient, external_id: 'c-2', job_title: 'x', years: 1 })),
    ).to.equal('template_incomplete company');
  });

  it('holds a card if the recipient’s email is on the do-not-mail list', async () => {
    const world = await makeWorld({ atomic: true, credits: 1 });
    const { id } = await make(world);
    await execute(
      world,
      doNotMail,
      doNotMailId(org, 'ann@x.de'),
      world.command(),
      addToDoNotMail('ann@x.de'),
    );
    expect((await letterOf(world, id, { ...recipient, message: 'Hi', email: ' ANN@x.de ' })).type).to.equal(
      'CardHeld',
    );
    expect(
      (await letterOf(world, id, { recipient: { ...recipient, email: 'ann@X.de' }, message: 'Hi' })).type,
    ).to.equal('CardHeld');
    expect(await balanceOf(world)).to.equal(1);
    await saveContactRecord(
      world,
      org,
      world.command(),
      readContact({ external_id: 'c-1', name: 'Ann', email: 'ann@x.de' }),
    );
    const toContact = { ...recipient, message: 'Hi', external_id: 'c-1' };
    expect((await letterOf(world, id, toContact)).type).to.equal('CardHeld');
    expect((await letterOf(world, id, { ...toContact, email: 'bo@x.de' })).type).to.equal('CardScheduled');
  });

  it('uses the hook’s design unless another is sent, and never replaces one that is gone', async () => {
    const world = await makeWorld({ atomic: true, credits: 9 });
    const { id } = await make(world, { design: 'card:thank-you' });
    const hi = { ...recipient, message: 'Hi' };
    expect((await letterOf(world, id, { ...hi, design_id: '' })).order?.design.slug).to.equal('thank-you');
    expect((await letterOf(world, id, { ...hi, design_id: designId })).order?.design.id).to.equal(designId);
    await execute(world, collectionCard, 'thank-you', world.command(), putCollectionCard('Thank you', false));
    expect(await refusalOf(fire(world, id, hi))).to.equal('design_not_found null');
    expect((await letterOf(world, id, { ...hi, design_id: designId })).order?.design.id).to.equal(designId);
    const saved = await make(world, { design: designId });
    await execute(world, organization, org, world.command(), archiveDesign(designId));
    expect(await refusalOf(fire(world, saved.id, hi))).to.equal('design_not_found null');
  });
});

describe('managing hooks', () => {
  it('returns a token that finds the hook', async () => {
    const world = await makeWorld({ atomic: true });
    const { id, token } = await make(world, { label: 'Shop' });
    expect(token).to.match(/^[A-Za-z0-9_-]{43}$/);
    expect(await openHook(world.streams, token)).to.deep.equal({
      id,
      hook: { status: 'active', org, ...bare, label: 'Shop' },
    });
    expect((await openHook(world.streams, `${token}x`)).hook).to.deep.equal({ status: 'none' });
    expect(
      JSON.stringify((await world.store.readLog(0n, 1000)).map((event) => ({ ...event, position: null }))),
    ).to.not.contain(token);
  });

  it('refuses an unknown design or organization', async () => {
    const world = await makeWorld({ atomic: true });
    for (const design of [
      'nonsense',
      'card:nothing',
      'card:',
      Uuid.parse('00000000-0000-4000-8000-000000000000'),
    ]) {
      expect(await refusalOf(make(world, { design }))).to.equal('design_not_found null');
    }
    expect(await refusalOf(make(world, { design: 'card:thank-you' }))).to.equal('none');
    expect(await refusalOf(makeHook(keeping(world), other, bare, world.command()))).to.equal(
      'not_found null',
    );
  });

  it('finds hooks and calls of its own organization only', async () => {
    const world = await makeWorld({ atomic: true });
    const { id } = await make(world);
    const hooks = keeping(world);
    for (const wrong of ['nonsense', Uuid.parse('00000000-0000-4000-8000-000000000000')]) {
      expect(await refusalOf(updateHook(hooks, org, wrong, { paused: true }, world.command()))).to.equal(
        'not_found null',
      );
      expect(await refusalOf(listHookCalls(hooks, org, wrong, { startingAfter: null, limit: 50 }))).to.equal(
        'not_found null',
      );
    }
    expect(await refusalOf(changeHook(hooks, id, world.command(), deleteHook(other)))).to.equal(
      'not_found null',
    );
    expect(await refusalOf(listHookCalls(hooks, other, id, { startingAfter: null, limit: 50 }))).to.equal(
      'not_found null',
    );
    expect(await refusalOf(listHookCalls(hooks, org, id, { startingAfter: 'x', limit: 50 }))).to.equal(
      'invalid_cursor starting_after',
    );
    expect(await refusalOf(listHooks(hooks, org, { startingAfter: id, limit: 50 }))).to.equal(
      'invalid_cursor starting_after',
    );
    await changeHook(hooks, id, world.command(), deleteHook(org));
    await changeHook(hooks, id, world.command(), deleteHook(org));
    expect(await refusalOf(updateHook(hooks, org, id, { paused: false }, world.command()))).to.equal(
      'not_found null',
    );
    expect(await listHookCalls(hooks, org, id, { startingAfter: null, limit: 50 })).to.deep.equal([]);
  });
});
