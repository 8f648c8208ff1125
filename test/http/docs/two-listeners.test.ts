import { expect } from 'chai';
import { startTestService, type RunningService } from '../../support/http/service.js';

interface Page {
  readonly status: number;
  readonly html: string;
}

const linksIn = (html: string): readonly string[] =>
  [...html.matchAll(/<(?:a|form|link|script) [^>]*(?:href|action|src)="([^"#]*(?:#[^"]*)?)"/g)]
    .map(([, link = '']) => link.replaceAll('&amp;', '&'))
    .filter((link) => !link.startsWith('data:'));

describe('the documentation of two listeners', () => {
  let service: RunningService;
  const pages = new Map<string, Page>();

  const load = async (address: string): Promise<Page> => {
    const known = pages.get(address);
    if (known !== undefined) return known;
    const response = await fetch(address);
    const page = { status: response.status, html: await response.text() };
    pages.set(address, page);
    return page;
  };

  /** The pages that are reached from one, on the same listener, with the links of each. */
  const walk = async (first: string): Promise<ReadonlyMap<string, readonly URL[]>> => {
    const seen = new Map<string, readonly URL[]>();
    const left = [first];
    for (let address = left.pop(); address !== undefined; address = left.pop()) {
      if (seen.has(address)) continue;
      const links = linksIn((await load(address)).html).map((link) => new URL(link, address));
      seen.set(address, links);
      for (const { origin, pathname } of links)
        if (origin === new URL(first).origin && /^\/docs(?!.*\.md$)/.test(pathname))
          left.push(origin + pathname);
    }
    return seen;
  };

  before(async () => {
    service = await startTestService({ OPERATOR_HOST: '127.0.0.1', OPERATOR_PORT: '0' });
  });
  after(() => service.stop());

  for (const [name, least] of [
    ['baseUrl', 70],
    ['operatorAddress', 60],
  ] as const)
    it(`leads to nothing that is not there, from ${name}`, async function () {
      this.timeout(60_000);
      const walked = await walk(`${service[name]}/docs`);
      expect(walked.size).to.be.above(least);
      const origins = [service.baseUrl, service.operatorAddress];
      const astray: string[] = [];
      for (const [address, links] of walked)
        for (const link of links) {
          const { status, html } = await load(link.href.replace(link.hash, ''));
          const isThere = link.hash === '' || html.includes(` id="${link.hash.slice(1)}"`);
          if (!origins.includes(link.origin) || status !== 200 || !isThere)
            astray.push(`${address}: ${link.href}`);
        }
      expect(astray).to.deep.equal([]);
    });

  it('leads from Markdown to what is there, on the other listener, too', async () => {
    const { html: list } = await load(`${service.operatorAddress}/llms.txt`);
    const listed = [...list.matchAll(/\]\((http[^)]*)\)/g)].map(([, link = '']) => link);
    expect(listed.length).to.be.above(10);
    for (const address of listed) {
      const { html: markdown } = await load(address);
      for (const [, link = ''] of markdown.matchAll(/\]\((http[^)#]*)[^)]*\)/g))
        expect((await load(link)).status, `${address}: ${link}`).to.equal(200);
    }
    expect(listed.filter((link) => !link.startsWith(service.operatorAddress))).to.deep.equal([]);
  });

  it('names the address of each in its samples', async () => {
    const { html } = await load(`${service.operatorAddress}/docs/operator/credits`);
    expect(html)
      .to.include(`${service.operatorAddress}/operator/v1/`)
      .and.not.include(`${service.baseUrl}/operator`);
  });

  it('finds on each what is there', async () => {
    const found = async (address: string): Promise<readonly string[]> => {
      const { html } = await load(`${address}/docs/search?q=cards`);
      return [...html.matchAll(/<li><a href="([^"]*)"/g)].map(([, link = '']) => link);
    };
    const [operators, everybodys] = [await found(service.operatorAddress), await found(service.baseUrl)];
    expect(operators).to.include('/docs/operator/cards');
    expect(operators.filter((link) => !/^\/docs\/(operator|errors)/.test(link))).to.deep.equal([]);
    expect(everybodys).to.include('/docs/reference/cards');
    expect(everybodys.filter((link) => link.startsWith('/docs/operator'))).to.deep.equal([]);
  });
});
