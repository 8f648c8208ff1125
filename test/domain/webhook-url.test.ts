import { expect } from 'chai';
import { DomainError } from '../../domain/errors.js';
import { checkTarget, hostSet, readWebhookUrl } from '../../domain/webhook-url.js';

const rules = { ownHosts: hostSet(['cards.example.com', '203.0.113.7', '::1']), ports: new Set([443, 8443]) };

const read = (text: string): string | null => {
  try {
    const url = readWebhookUrl(text);
    if (url !== null) checkTarget(new URL(url), rules);
    return url;
  } catch (error) {
    if (error instanceof DomainError) return error.code;
    throw error;
  }
};

describe('the URL of a webhook endpoint', () => {
  const normalised: readonly (readonly [string, string])[] = [
    ['https://Example.COM', 'https://example.com/'],
    ['  https://example.com/a  ', 'https://example.com/a'],
    ['https://example.com:443/a', 'https://example.com/a'],
    ['https://example.com:8443/a/', 'https://example.com:8443/a/'],
    ['https://example.com./a', 'https://example.com/a'],
    ['https://example.com/a#part', 'https://example.com/a'],
    ['https://example.com/a#', 'https://example.com/a'],
    ['https://example.com/a/../b?q=ü', 'https://example.com/b?q=%C3%BC'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
  ];
  for (const [input, url] of normalised)
    it(`${input.trim()} is kept as ${url}`, () => expect(read(input)).to.equal(url));

  const refused: readonly string[] = [
    '', '  ', 'example.com', '/hook', 'https://', 'https:// a/',
    'http://example.com/', 'ftp://example.com/', 'javascript:alert(1)', 'HTTP://example.com/',
    'https://user@example.com/', 'https://:secret@example.com/', 'https://user:secret@example.com/',
    'https://example.com:8080/', 'https://example.com:80/', 'https://example.com:99999/',
    'https://localhost/', 'https://metadata.google.internal/', 'https://METADATA.goog./x', 'https://LOCALHOST./', 'https://api.localhost/', 'https://a..b/', 'https://./', 'https://example.com../',
    'https://cards.example.com/', 'https://CARDS.example.com./x', 'https://cards.example.com:8443/', 'https://203.0.113.7/', 'https://[::1]:8443/',
    'https://[::ffff:203.0.113.7]/', 'https://0xcb.0.0x7107/', 'https://3405803783/', 'https://card%73.example.com/',
  ]; // prettier-ignore
  for (const input of refused)
    it(`${JSON.stringify(input)} is refused`, () => expect(read(input)).to.equal('invalid_url'));

  it('has at most 2,048 characters, counted after normalising', () => {
    const start = 'https://example.com/';
    expect(read(start + 'a'.repeat(2048 - start.length))).to.have.length(2048);
    expect(read(start + 'a'.repeat(2049 - start.length))).to.equal('invalid_url');
    expect(read(`${start + 'a'.repeat(2048 - start.length)}#fragment`)).to.have.length(2048);
    expect(read(start + 'ü'.repeat(400))).to.equal('invalid_url');
  });

  it('may have any port if the ports are not limited', () => {
    const url = new URL('https://example.com:8080/');
    expect(() => checkTarget(url, rules))
      .to.throw(DomainError)
      .with.property('code', 'invalid_url');
    checkTarget(url, { ...rules, ports: null });
  });
});
