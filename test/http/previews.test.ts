import { expect } from 'chai';
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

  it('shows a message as text', async () => {
    const { body } = await preview({ message: '</text><script>alert("1")</script>' });
    expect(body['svg']).to.include('&lt;script>').and.not.include('<script');
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
    for (const [fields, code, param] of [
      [{}, 'missing_message', 'message'],
      [{ message: 'Dear {{name}}' }, 'broken_merge_field', 'message'],
      [{ message: 'x'.repeat(501) }, 'message_too_long', 'message'],
      [{ message: 'Thank you', handwriting: 'Wobbly' }, 'unknown_handwriting', 'handwriting'],
    ] as const) {
      const refused = await preview(fields);
      expect([refused.code, refused.param]).to.deep.equal([code, param]);
    }
  });
});
