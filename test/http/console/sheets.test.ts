import { expect } from 'chai';
import { firstHandwritings } from '../../../domain/catalogue.js';
import { layOut } from '../../../domain/letter-layout.js';
import { uploadPicture } from '../../support/artwork/upload.js';
import {
  aCard,
  built,
  startTestService,
  type RunningService,
  type Tenant,
} from '../../support/http/service.js';
import { settableClock } from '../../support/http/http.js';
import { scanned, seen, sheetsIn, type Box } from '../../support/http/sheets.js';
import { memberOf, operatorOf, type Visitor } from '../../support/http/visitor.js';
import { startHeartbeat } from '../../support/pulse/heartbeat.js';

const inch = 25.4;
const boxIn = (...inches: readonly number[]): Box =>
  inches.map((each) => Math.round(each * inch * 100) / 100);
/** The sheet of a front or an inside: the card, 5 × 7 inches, with half an inch around it. */
const cardSheet = {
  media: boxIn(0, 0, 6, 8),
  trim: boxIn(0.5, 0.5, 5.5, 7.5),
  bleed: boxIn(0.375, 0.375, 5.625, 7.625),
};
const envelope = boxIn(0, 0, 7.25, 5.25);
const envelopeSheet = { media: envelope, trim: envelope, bleed: envelope };

describe('the sheets of cards', () => {
  let service: RunningService;
  let tenant: Tenant;
  let floor: Visitor;
  let pictured: string;

  before(async function () {
    this.timeout(60_000);
    service = await startTestService({}, settableClock('2026-03-02T15:00:00.000Z'));
    tenant = await service.tenant({ credits: 300 });
    floor = await operatorOf(service);
    const owner = await memberOf(service, tenant.org, 'owner');
    await owner.submit(await uploadPicture(owner, tenant.org, 'Red (and) blue'), 'save', { fit: 'fill' });
    const { rows } = await tenant.api('/api/v1/designs');
    pictured = String(rows.find(({ name }) => name === 'Red (and) blue')?.['id']);
  });
  after(() => service.stop());

  const sent: string[] = [];
  const change = (code: string, path: string, body: object = {}) =>
    built(service.operator(`/operator/v1/cards/${code}/${path}`, { body }));
  const queued = async (changes: object = {}): Promise<string> => {
    const { id } = await built(tenant.api('/api/v1/cards', { body: aCard(changes) }));
    sent.push(id);
    await change(id, 'queue');
    return id;
  };
  const pdfAt = async (path: string): Promise<Buffer> => {
    const response = await fetch(`${service.baseUrl}/console/house/floor/${path}`, {
      headers: { cookie: floor.cookie ?? '' },
    });
    expect([response.status, response.headers.get('content-type')], path).to.deep.equal([
      200,
      'application/pdf',
    ]);
    return Buffer.from(await response.arrayBuffer());
  };
  afterEach(async () => {
    for (const code of sent.splice(0))
      await service.operator(`/operator/v1/cards/${code}/cancel`, { body: {} });
  });

  it('are a day’s run: queued cards that are due, by design, all parts in one order', async () => {
    const hand = { handwriting: 'Elegant' };
    const plain = await queued({ design_id: tenant.design });
    const first = await queued({ design_id: pictured, ...hand });
    const other = await queued({ design_id: tenant.design });
    const last = await queued({ design_id: pictured });
    await change(await queued(), 'cancel');
    await change(await queued(), 'hold', { reason: 'Ask Ada' });
    await change(await queued(), 'steps/card_stock_prepared', { status: 'in_progress' });
    await queued({ arrive_on: '2026-06-10' });
    await built(tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2026-06-10' }) }));
    const pdf = await pdfAt('run.pdf');
    const sheets = sheetsIn(pdf);
    const design = (await tenant.api('/api/v1/designs')).rows.find(({ id }) => id === tenant.design)?.[
      'name'
    ];
    const none = ['This design has no picture', String(design)];
    const frontOf = (code: string) =>
      [first, last].includes(code)
        ? [code, 'front · Red (and) blue']
        : [...none, code, `front · ${String(design)}`];
    const groups = [
      [first, last],
      [plain, other],
    ];
    const codes = (sheets[0]?.lines.length === 2 ? groups : groups.toReversed()).flat();
    const address = ['Ada Lovelace', '12 Analytical Way', 'Springfield IL 62701'];
    expect(sheets).to.deep.equal([
      ...codes.map((code) => ({ ...cardSheet, lines: frontOf(code) })),
      ...codes.map((code) => ({ ...cardSheet, lines: ['Thank you, Ada.', code, 'inside'] })),
      ...codes.map((code) => ({ ...envelopeSheet, lines: [...address, code] })),
    ]);
    const all = await seen(pdf, [...sheets.keys()]);
    expect(await Promise.all(all.map(scanned))).to.deep.equal(
      [codes, codes, codes].flat().map((code) => [`Code128 ${code}`]),
    );
    const { location } = await floor.get(`/console/house/floor?code=${first}`);
    expect(location).to.equal(`/console/house/floor/${first}`);
  }).timeout(60_000);

  it('have the picture in its place and size, with its bleed', async () => {
    const code = await queued({ design_id: pictured });
    const pdf = await pdfAt(`${code}/sheets.pdf`);
    expect(sheetsIn(pdf)).to.have.length(3);
    const [front] = await seen(pdf, [0]);
    const red = front?.boxOf((r, g, b) => r > 200 && g < 80 && b < 80) ?? [];
    const blue = front?.boxOf((r, g, b) => b > 200 && g < 80 && r < 80) ?? [];
    const [left = 0, bottom = 0, right = 0, top = 0] = cardSheet.bleed;
    const middle = (left + right) / 2;
    for (const [found, wanted] of [
      [red, [left, bottom, middle, top]],
      [blue, [middle, bottom, right, top]],
    ] as const)
      for (const [at, edge] of wanted.entries()) expect(found[at]).to.be.closeTo(edge, 0.25);
    // Marks of the cut at each corner, between the edge of the paper and what is printed.
    const isMarked = (x: number, y: number): boolean => front?.isDark(x * inch, y * inch) === true;
    for (const edge of [0.2, 7.8])
      for (const x of [0.5, 5.5]) expect(isMarked(x, edge), `${x}`).to.equal(true);
    for (const edge of [0.2, 5.8])
      for (const y of [0.5, 7.5]) expect(isMarked(edge, y), `${y}`).to.equal(true);
    expect([isMarked(0.55, 0.2), isMarked(0.2, 0.55), isMarked(0.5, 0.36)]).to.deep.equal([
      false,
      false,
      false,
    ]);
  }).timeout(60_000);

  it('hold every text inside their edges, in each handwriting', async () => {
    const message = 'Ŵ WWWWWW mmmm jjgg, Ádá — '.repeat(30).slice(0, 380);
    const recipient = {
      name: 'W'.repeat(40),
      line1: 'M'.repeat(50),
      line2: 'W'.repeat(50),
      city: 'W'.repeat(30),
      state: 'IL',
      zip: '62701-1234',
    };
    for (const handwriting of firstHandwritings) {
      const code = await queued({ message, recipient, handwriting });
      const pdf = await pdfAt(`${code}/sheets.pdf`);
      const sheets = sheetsIn(pdf);
      expect(sheets[1]?.lines).to.deep.equal([...layOut(message, handwriting).lines, code, 'inside']);
      const [inside, outside] = await seen(pdf, [1, 2]);
      // The writing, which alone is blue.
      const isInk = (r: number, g: number, b: number): boolean => b > r + 25 && g < 200;
      const [left = 0, bottom = 0, right = 0, top = 0] = inside?.boxOf(isInk) ?? [];
      const [x = 0, y = 0, z = 0, w = 0] = outside?.boxOf(isInk) ?? [];
      expect(
        [left >= 17, bottom >= 17, right <= 5.5 * inch - 4, top <= 7.5 * inch - 4, right - left > 60],
        handwriting,
      ).to.deep.equal([true, true, true, true, true]);
      expect([x > 2.5 * inch, y > 0.625 * inch, z < 7 * inch, w < 3.2 * inch], handwriting).to.deep.equal([
        true,
        true,
        true,
        true,
      ]);
    }
  }).timeout(120_000);

  it('are printed in parts of 200 cards, while others are answered', async () => {
    const early = await built(tenant.api('/api/v1/cards', { body: aCard({ design_id: pictured }) }));
    sent.push(early.id);
    const codes: string[] = [];
    for (let n = 0; n < 21; n++)
      codes.push(
        ...(await Promise.all(
          Array.from({ length: n === 20 ? 3 : 10 }, () => queued({ design_id: pictured })),
        )),
      );
    const page = (await floor.get('/console/house/floor/run')).text;
    const [, next = ''] = /href="\/console\/house\/floor\/(run\?after=[^"]+)"/.exec(page) ?? [];
    const [, print = ''] = /href="\/console\/house\/floor\/(run\.pdf\?[^"]+)"/.exec(page) ?? [];
    // It comes into the part after the page was shown, and pushes no other out of it.
    await change(early.id, 'queue');
    const heart = startHeartbeat();
    const pdf = await pdfAt(print.replaceAll('&amp;', '&'));
    const longest = heart.longest();
    const part = sheetsIn(pdf);
    const rest = sheetsIn(await pdfAt(next.replace('run', 'run.pdf')));
    expect([part.length, rest.length]).to.deep.equal([603, 9]);
    expect(longest).to.be.below(50);
    const fronts = [part.slice(0, 201), rest.slice(0, 3)].flat().map(({ lines: [line = ''] }) => line);
    expect(fronts.toSorted()).to.deep.equal([early.id, ...codes].toSorted());
    expect((await floor.get(`/console/house/${next}`)).text).not.to.include('Next part');
  }).timeout(120_000);

  it('are not printed of a withdrawn design, unless the card was started before, and then again', async () => {
    const { design } = tenant;
    const [started, untouched] = [await queued({ design_id: design }), await queued({ design_id: design })];
    await change(started, 'steps/card_stock_prepared', { status: 'in_progress' });
    const page = `/console/${tenant.org}/designs`;
    await floor.submit(page, 'withdraw', { design, reason: 'It is <not> ours.' });
    const refused = await floor.get(`/console/house/floor/${untouched}/sheets.pdf`);
    expect(refused.status).to.equal(409);
    expect(refused.text).to.include('The design was withdrawn: It is &lt;not> ours. Cancel the card');
    const sheets = sheetsIn(await pdfAt(`${started}/sheets.pdf`));
    expect(sheets.map(({ lines }) => lines.find((line) => line === started))).to.deep.equal(
      Array.from({ length: 3 }, () => started),
    );
    await floor.submit(page, 'reinstate', { design });
    expect(sheetsIn(await pdfAt(`${untouched}/sheets.pdf`))).to.have.length(3);
  });

  it('are none where nothing is to be printed, and of no card that is not there', async () => {
    const statusAt = async (path: string) => (await floor.get(`/console/house/floor/${path}`)).status;
    const [sheet, ...others] = sheetsIn(await pdfAt('run.pdf'));
    expect([sheet?.lines, others]).to.deep.equal([['Nothing is to be printed'], []]);
    expect([await statusAt('run?after=HC-0000000'), await statusAt('HC-0000000/sheets.pdf')]).to.deep.equal([
      404, 404,
    ]);
    expect((await floor.get('/console/house/floor/run')).text).to.include('Nothing is to be printed');
  });
});
