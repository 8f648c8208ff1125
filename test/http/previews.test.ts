import { expect } from 'chai';
import { exampleRecipient } from '../../adapters/http/api/card-fields.js';
import { layOut } from '../../domain/letter-layout.js';
import { startTestService, type Client, type RunningService, type Tenant } from '../support/http/service.js';

describe('POST /api/v1/previews', () => {
  let service: RunningService;
  let tenant: Tenant;
  let nothing: Client;

  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
    nothing = await tenant.withScopes('contacts:read');
  });
  after(() => service.stop());

  const preview = (body: object) => nothing('/api/v1/previews', { body });

  it('shows any key a message in the house hand, as it is broken into lines, and spends nothing', async () => {
    const message = 'Dear Ada,\n\nthank you for the straw hat, which I wear every single day of this summer.';
    const { status, body } = await preview({ message });
    const { lines, size } = layOut(message, 'Everyday');
    expect(status).to.equal(200);
    expect(body).to.deep.include({
      object: 'preview',
      handwriting: 'Everyday',
      fits: true,
      lines,
      size_pt: size,
      not_drawn: [],
    });
    expect(lines.length).to.be.above(3);
    for (const line of lines) expect(body['svg']).to.include(`>${line}</text>`);
    expect(await tenant.balance()).to.equal(100);
    expect((await tenant.api('/api/v1/cards')).rows).to.deep.equal([]);
    expect(body).to.not.have.any.keys('design', 'envelope');
  });

  const recipient = { ...exampleRecipient, line2: 'Apt 4', state: 'il' };

  it('shows the whole card with a recipient: the default front, and the envelope in the same hand', async () => {
    const { body } = await preview({ recipient, message: 'Thank you', handwriting: 'Elegant' });
    expect(body['design']).to.deep.equal({
      id: tenant.design,
      name: 'Thanks',
      collection_slug: null,
      preview_url: null,
    });
    const { lines, svg } = body['envelope'] as { readonly lines: readonly string[]; readonly svg: string };
    expect(lines).to.deep.equal(['Ada Lovelace', '12 Analytical Way', 'Apt 4', 'Springfield IL 62701']);
    for (const line of lines) expect(svg).to.include(`>${line}</text>`);
    expect(svg).to.include('font-family="Dancing Script, cursive"').and.include('viewBox="0 0 522 378"');
  });

  it('shows the front of a collection card as lists do, under the id of its copy once there is one', async () => {
    const slug = 'thank-you-botanical';
    const shown = async () => (await preview({ message: 'Thank you', design_id: `card:${slug}` })).body;
    const offered = (await nothing('/api/v1/collection')).rows.find(({ id }) => id === `card:${slug}`);
    const { preview_url } = offered ?? {};
    const design = { name: offered?.['title'], collection_slug: slug, preview_url };
    expect(preview_url).to.match(/preview\.webp$/);
    const before = await shown();
    expect(before['design']).to.deep.equal({ id: `card:${slug}`, ...design });
    expect(before).to.not.have.property('envelope');
    expect((await nothing('/api/v1/designs')).rows, 'kept').to.have.length(1);

    const made = await tenant.api('/api/v1/cards', {
      body: { recipient: exampleRecipient, message: 'Thank you', design_id: `card:${slug}` },
    });
    expect(made.status).to.equal(201);
    const copy = (await nothing('/api/v1/designs')).rows[0];
    expect(copy).to.deep.include(design);
    expect((await shown())['design']).to.deep.equal({ id: copy?.['id'], ...design });
  });

  it('writes in the handwriting that is asked for, in any case', async () => {
    const { body } = await preview({ message: 'Thank you', handwriting: 'elegant' });
    expect(body['handwriting']).to.equal('Elegant');
    expect(body['svg']).to.match(/font-family="Dancing Script, cursive"/);
  });

  it('says that a message of 250 lines does not fit, and draws no more than the card has room for', async () => {
    const { body } = await preview({ message: Array.from({ length: 250 }, () => 'a').join('\n') });
    expect([body['fits'], body['size_pt']]).to.deep.equal([false, 14]);
    expect(body['lines']).to.have.length(250);
    expect(String(body['svg']).match(/<text/g)).to.have.length(24);
  });

  it('says that an address does not fit the envelope', async () => {
    const fits = async (more: object) =>
      (await preview({ message: 'Thank you', recipient: { ...recipient, ...more } })).body['fits'];
    expect(await fits({ city: 'C'.repeat(41) })).to.equal(true);
    for (const more of [{ city: 'C'.repeat(42) }, { name: 'N'.repeat(41) }, { line2: 'L'.repeat(51) }])
      expect(await fits(more)).to.equal(false);
  });

  it('shows a message as text', async () => {
    const { body } = await preview({ message: '</text><script>alert("1")</script>' });
    expect(body['svg']).to.include('&lt;script>').and.not.include('<script');
  });

  it('draws the end of a CDATA section as text, which no XML may hold bare', async () => {
    const { body } = await preview({
      message: ']]> and ]]]>>',
      recipient: { ...recipient, name: 'Ada ]]>' },
    });
    const envelope = body['envelope'] as { readonly svg: string };
    expect(body['svg']).to.include('>]]&gt; and ]]]&gt;></text>').and.not.include(']]>');
    expect(envelope.svg).to.include('>Ada ]]&gt;</text>').and.not.include(']]>');
  });

  it('draws what no XML may hold as a replacement character', async () => {
    const { body } = await preview({ message: 'a\u0001b \ud800c' });
    expect(body['svg']).to.include('>a\ufffdb \ufffdc</text>');
  });

  it('names characters that it can’t draw', async () => {
    const { body } = await preview({ message: 'Thank you 🎉', handwriting: 'Architect' });
    expect(body['not_drawn']).to.deep.equal(['🎉']);
  });

  it('refuses what a card is refused for', async () => {
    const foreign = await service.tenant();
    for (const [fields, code, param] of [
      [{}, 'missing_message', 'message'],
      [{ message: 'Dear {{name}}' }, 'broken_merge_field', 'message'],
      [{ message: 'x'.repeat(501) }, 'message_too_long', 'message'],
      [{ message: 'Thank you', handwriting: 'Wobbly' }, 'unknown_handwriting', 'handwriting'],
      [{ message: 'Thank you', design_id: foreign.design }, 'design_not_found', 'design_id'],
      [{ message: 'Thank you', design_id: 'card:nothing' }, 'design_not_found', 'design_id'],
      [{ message: 'Thank you', design_id: '' }, 'design_not_found', 'design_id'],
      [{ recipient: {}, message: '{{name}}' }, 'invalid_recipient', 'recipient.name'],
      [{ recipient: 'Ada', message: 'Thank you' }, 'invalid_recipient', 'recipient'],
      [
        { recipient: { ...exampleRecipient, country: 'PR' }, message: 'Thank you' },
        'invalid_recipient',
        'recipient.state',
      ],
    ] as const) {
      const refused = await preview(fields);
      expect([refused.code, refused.param]).to.deep.equal([code, param]);
    }
    const { api } = await service.tenant({ designs: false });
    const refused = await api('/api/v1/previews', { body: { recipient, message: 'Thank you' } });
    expect([refused.status, refused.code]).to.deep.equal([422, 'no_design_available']);
    const { status } = await api('/api/v1/previews', { body: { message: 'Thank you' } });
    expect(status, 'nothing asks for the front').to.equal(200);
  });
});
