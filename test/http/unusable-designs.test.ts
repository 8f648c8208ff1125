import { expect } from 'chai';
import { exampleRecipient } from '../../adapters/http/api/card-fields.js';
import {
  aCard,
  built,
  startTestService,
  type Fields,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';
import { memberOf, operatorOf, type Visitor } from '../support/http/visitor.js';

describe('a design that was archived, erased or withdrawn', () => {
  let service: RunningService;
  let tenant: Tenant;
  let owner: Visitor;
  const ids: Record<string, string> = {};
  const hooks: Record<string, string> = {};
  const slugs = { archive: 'welcome-home', erase: 'with-sympathy', withdraw: 'get-well-soon' };

  const saved = async (): Promise<readonly Fields[]> => (await tenant.api('/api/v1/designs')).rows;
  const send = (design_id?: string) => tenant.api('/api/v1/cards', { body: aCard({ design_id }) });
  const toHook = (token = '', fields: object = {}) =>
    service.anonymous(`/api/v1/hooks/${token}`, {
      body: { ...exampleRecipient, message: 'Thank you.', ...fields },
    });

  before(async () => {
    service = await startTestService();
    tenant = await service.tenant({ designs: false });
    owner = await memberOf(service, tenant.org, 'owner');
    const operator = await operatorOf(service);
    const office = `/operator/v1/organizations/${tenant.org}/hooks`;
    const hookWith = async (design_id: string | null) =>
      String((await built(service.operator(office, { body: { design_id } }))).body['token']);
    for (const [action, slug] of Object.entries(slugs)) {
      await built(send(`card:${slug}`));
      ids[action] = String((await saved())[0]?.['id']);
      hooks[action] = await hookWith(ids[action]);
    }
    hooks['none'] = await hookWith(null);
    for (const [action, design = ''] of Object.entries(ids)) {
      const who = action === 'withdraw' ? operator : owner;
      const fields = { design, reason: 'It is not yours.' };
      await who.submit(`/console/${tenant.org}/designs`, action, fields);
    }
  });
  after(() => service.stop());

  it('is refused in every way to send a card, and told why if the house has withdrawn it', async () => {
    const page = `/console/${tenant.org}/cards/new`;
    const typed = Object.entries(exampleRecipient).map(([name, value]) => [`recipient.${name}`, value]);
    for (const [action, id] of Object.entries(ids)) {
      const told =
        action === 'withdraw' ? `\`${id}\` was withdrawn: It is not yours.` : `There is no design \`${id}\``;
      const { text, status } = await owner.submit(page, 'send', {
        do: 'send',
        ...Object.fromEntries(typed),
        message: 'Thank you.',
        design_id: id,
      });
      expect([status, text.replaceAll(/<\/?code>/g, '`').includes(told)], text).to.deep.equal([422, true]);
      for (const refused of [
        await send(id),
        await send(id.toUpperCase()).then((reply) => ({ ...reply, text: reply.text.toLowerCase() })),
        await toHook(hooks[action]),
        await toHook(hooks['none'], { design_id: id }),
        await tenant.api('/api/v1/previews', { body: { message: 'Thank you.', design_id: id } }),
      ]) {
        expect([refused.status, refused.code, refused.param]).to.deep.equal([
          404,
          'design_not_found',
          'design_id',
        ]);
        expect(refused.text.toLowerCase()).to.include(told.toLowerCase());
      }
    }
    const none = [await send(), await toHook(hooks['none'])];
    expect(none.map(({ code }) => code)).to.deep.equal(['no_design_available', 'no_design_available']);
    expect(await saved()).to.deep.equal([]);
  });

  it('is copied anew by the slug of its card, unless the house has withdrawn it', async () => {
    const refused = await send(`card:${slugs.withdraw}`);
    expect([refused.status, refused.code]).to.deep.equal([404, 'design_not_found']);
    // The catalogue still has it, so its own name would be the nearest.
    expect(refused.text).to.include('It is not yours. Choose another one.').and.not.include('Did you mean');
    for (const slug of [slugs.archive, slugs.erase]) await built(send(`card:${slug}`));
    const copies = await saved();
    expect(copies.map((copy) => copy['collection_slug'])).to.deep.equal([slugs.erase, slugs.archive]);
    for (const { id, preview_url: url } of copies) {
      expect(Object.values(ids)).not.to.include(id);
      expect((await fetch(String(url))).status).to.equal(200);
    }
  });
});
