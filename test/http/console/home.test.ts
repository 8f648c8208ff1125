import { expect } from 'chai';
import { aCard, startTestService, type RunningService } from '../../support/http/service.js';
import { memberOf, operatorOf, type Visitor } from '../../support/http/visitor.js';
import { eventually } from '../../support/time/eventually.js';

describe('the home page of an organization', () => {
  let service: RunningService;
  let visitor: Visitor;

  before(async () => {
    service = await startTestService();
    visitor = await operatorOf(service);
  });
  after(() => service.stop());

  const homeOf = async (org: string): Promise<string> => (await visitor.get(`/console/${org}`)).text;

  it('counts the last seven days, as bars and as a table, and how long the credits last', async () => {
    const tenant = await service.tenant({ credits: 20 });
    const codes: string[] = [];
    for (let count = 0; count < 4; count++)
      codes.push((await tenant.api('/api/v1/cards', { body: aCard() })).id);
    await tenant.api(`/api/v1/cards/${codes[0]}`, { method: 'DELETE' });
    const text = await eventually(async () => {
      const shown = await homeOf(tenant.org);
      return shown.includes('4 sent · 0 mailed · 1 cancelled') && shown;
    });
    expect(text.match(/<rect [^>]*><title>/g)).to.have.length(7);
    expect(text).to.match(/<title>\w+ \d+: 4 sent · 0 mailed · 1 cancelled<\/title>/);
    const table = /<details>[^]*?<\/table>/.exec(text)?.[0] ?? '';
    expect(table.match(/<tr>/g)).to.have.length(8);
    expect(text).to.match(/At 4 a week, they last 4 weeks\./);
    expect(text).to.include(`<a href="/console/${tenant.org}/credits">Statement</a>`);
  });

  it('warns when the credits last less than two weeks, and says what stops when none is left', async () => {
    const tenant = await service.tenant({ credits: 3 });
    for (let count = 0; count < 2; count++) await tenant.api('/api/v1/cards', { body: aCard() });
    await eventually(async () =>
      /class="note[^"]*">\s*At 2 a week, they last less than a week/.test(await homeOf(tenant.org)),
    );
    await tenant.api('/api/v1/cards', { body: aCard() });
    await eventually(async () => (await homeOf(tenant.org)).includes('Without credits no card is sent'));
  });

  it('leads a newcomer to the first card, and stops when it is sent', async () => {
    const { id: org } = await service.operator('/operator/v1/organizations', { body: { name: 'New' } });
    const done = (text: string) => text.match(/Done<\/span>/g)?.length ?? 0;
    const before = await homeOf(org);
    expect([before.includes('New here?'), done(before)]).to.deep.equal([true, 0]);
    const { text } = await (await memberOf(service, org, 'owner')).get(`/console/${org}`);
    for (const step of ['keys', 'designs', 'cards/new'])
      expect(text).to.include(`<li><a href="/console/${org}/${step}">`);
    const tenant = await service.tenant();
    const half = await homeOf(tenant.org);
    expect([half.includes('New here?'), done(half)]).to.deep.equal([true, 2]);
    await tenant.api('/api/v1/cards', { body: aCard() });
    await eventually(async () => !(await homeOf(tenant.org)).includes('New here?'));
  });

  it('shows the fronts of its cards, like the lists of cards and of what is held, also archived ones', async () => {
    const tenant = await service.tenant();
    const send = async (fields: object) =>
      (await tenant.api('/api/v1/cards', { body: aCard({ message: 'Thank you 🎉', ...fields }) })).id;
    const [plain, drawn] = [await send({}), await send({ design_id: 'card:welcome-home' })];
    const [copy] = (await tenant.api('/api/v1/designs')).rows;
    const designs = `/operator/v1/organizations/${tenant.org}/designs`;
    await service.operator(`${designs}/${String(copy?.['id'])}`, { method: 'DELETE' });
    const front = String(copy?.['preview_url']).replace('preview', 'thumbnail').replace(service.baseUrl, '');
    for (const [path, count] of [
      ['', 2],
      ['/cards', 1],
      ['/cards?status=blocked', 1],
    ] as const) {
      const { text } = await visitor.get(`/console/${tenant.org}${path}`);
      const shown = new RegExp(`small-front"><img [^>]*src="${front}"[^>]*loading="lazy"`, 'g');
      expect(text.match(shown), path).to.have.length(count);
      expect(text.match(/small-front"><\/span>/g), `${path}: ${plain}`).to.have.length(count);
    }
    const held = (await visitor.get('/console/house/held')).text.split('<section ');
    expect(held.find((each) => each.includes(drawn))).to.include(`src="${front}"`);
    expect(held.find((each) => each.includes(plain))).to.include('small-front"></span>');
  });

  it('names held cards with the reason and the time, and leads to all of them', async () => {
    const tenant = await service.tenant();
    const { id } = await tenant.api('/api/v1/cards', { body: aCard({ message: 'Thank you 🎉' }) });
    const text = await homeOf(tenant.org);
    expect(text).to.match(new RegExp(`Needs attention[^]*${id}[^]*The pen can't write[^]*sent <time`));
    expect(text).not.to.include('All held cards');
    const more = Array.from({ length: 5 }, () =>
      tenant.api('/api/v1/cards', { body: aCard({ message: 'Thank you 🎉' }) }),
    );
    await Promise.all(more);
    await eventually(async () =>
      (await homeOf(tenant.org)).includes(
        `<a href="/console/${tenant.org}/cards?status=blocked">All held cards</a>`,
      ),
    );
  });
});
