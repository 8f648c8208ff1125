import { expect } from 'chai';
import {
  aCard,
  clientOf,
  startTestService,
  type RunningService,
  type Tenant,
} from '../../support/http/service.js';
import { memberOf, type Visitor } from '../../support/http/visitor.js';

describe('the page of cards', () => {
  let service: RunningService;
  let tenant: Tenant;
  let owner: Visitor;
  let list: string;
  const codes: string[] = [];

  before(async () => {
    service = await startTestService();
    tenant = await service.tenant({ credits: 60 });
    owner = await memberOf(service, tenant.org, 'owner');
    list = `/console/${tenant.org}/cards`;
    for (let count = 0; count < 52; count++) {
      const body = aCard({
        reference: count === 0 ? 'first' : 'order-1',
        ...(count < 2 && { message: '🎉' }),
      });
      codes.push((await tenant.api('/api/v1/cards', { body })).id);
    }
  });
  after(() => service.stop());

  /** The cards that a page lists, in its order. */
  const listed = ({ text }: { readonly text: string }): readonly string[] => [
    ...new Set([...text.matchAll(/href="\/cards\/([\w-]+)"/g)].map(([, code]) => code ?? '')),
  ];

  it('shows the newest fifty, and the others after them, also of a filter', async () => {
    const first = await owner.get(list);
    expect(listed(first)).to.deep.equal(codes.slice(2).reverse());
    const older = /href="(\/console\/[^"]*before=[^"]*)"/.exec(first.text)?.[1] ?? '';
    expect(listed(await owner.get(older))).to.deep.equal(codes.slice(0, 2).reverse());
    const ofFilter = await owner.get(`${list}?q=order-1`);
    expect(listed(ofFilter)).to.deep.equal(codes.slice(2).reverse());
    const more = /href="(\/console\/[^"]*before=[^"]*)"/.exec(ofFilter.text)?.[1] ?? '';
    expect(listed(await owner.get(more.replaceAll('&amp;', '&')))).to.deep.equal([codes[1]]);
  });

  it('finds cards by status and by reference, and opens the one whose code is given, however it is typed', async () => {
    expect(listed(await owner.get(`${list}?status=blocked`))).to.deep.equal([codes[1], codes[0]]);
    expect(listed(await owner.get(`${list}?q=first&status=blocked`))).to.deep.equal([codes[0]]);
    expect(listed(await owner.get(`${list}?status=posted`))).to.deep.equal([]);
    for (const typed of [codes[0], codes[0]?.toLowerCase()])
      expect((await owner.get(`${list}?q=${typed}`)).location).to.equal(`/cards/${codes[0]}`);
  });

  it('leads to the page of a card, which names who did what with it', async () => {
    const { body: key } = await service.operator(`/operator/v1/organizations/${tenant.org}/keys`, {
      body: { label: 'Shop', scopes: ['cards:send'] },
    });
    const send = clientOf(service.baseUrl, String(key['key']));
    const { id } = await send('/api/v1/cards', { body: aCard({ arrive_on: '2031-06-10' }) });
    await owner.submit(`/cards/${id}`, 'cancel');
    const { text } = await owner.get(`/cards/${id}`);
    expect(text).to.match(
      /Scheduled, 1 credit spent.*· the key Shop.*Cancelled, 1 credit returned.*· A owner/s,
    );
    expect(text).to.match(/<dt>Sent by<\/dt><dd>the key Shop<\/dd><dt>Design<\/dt><dd>[^<]+<\/dd>/);
  });

  it('says the same of the card of somebody else and of none', async () => {
    const other = await service.tenant();
    const { id } = await other.api('/api/v1/cards', { body: aCard() });
    for (const q of [id, 'HC-7K3M9QX', 'no such reference']) {
      const { status, text } = await owner.get(`${list}?q=${q}`);
      expect([status, text.includes('No card is like this')], q).to.deep.equal([200, true]);
    }
  });
});
