import { expect } from 'chai';
import { z } from 'zod';
import { guideNames, guidePlace } from '../../../adapters/http/docs/places.js';
import { publicEventTypes } from '../../../domain/public-events.js';
import { eventTypes } from '../../../adapters/http/document/asyncapi.js';
import { pagesWithSamples, samplesOn, shownText } from '../../support/http/docs-samples.js';
import { startTestService, type RunningService } from '../../support/http/service.js';

const Document = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ operationId: z.string().optional() }))),
});

interface Loaded {
  readonly html: string;
  readonly packed: number;
  readonly ids: ReadonlySet<string>;
}

const idsIn = (html: string): readonly string[] =>
  [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id ?? '');

const linksIn = (html: string): readonly string[] =>
  [...html.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'));

describe('the pages of the documentation', () => {
  let service: RunningService;
  const pages = new Map<string, Loaded>();

  const load = async (path: string): Promise<Loaded> => {
    const response = await fetch(`${service.baseUrl}${path}`);
    expect(response.status, path).to.equal(200);
    const html = await response.text();
    return { html, packed: Number(response.headers.get('content-length')), ids: new Set(idsIn(html)) };
  };

  before(async function () {
    this.timeout(60_000);
    service = await startTestService();
    const left = ['/docs'];
    for (let path = left.pop(); path !== undefined; path = left.pop()) {
      if (pages.has(path)) continue;
      const page = await load(path);
      pages.set(path, page);
      for (const link of linksIn(page.html)) {
        const [to = ''] = link.split('#');
        if (/^\/docs(\/|$)/.test(to) && !to.endsWith('.md')) left.push(to);
      }
    }
  });
  after(() => service.stop());

  it('are all reached from the first one, and lead to nothing that is not there', async () => {
    expect(pages.size).to.be.above(70);
    for (const [path, { html }] of pages)
      for (const link of linksIn(html)) {
        const [to = '', anchor] = link.split('#');
        const target = to === '' ? path : to;
        if (anchor !== undefined)
          expect(pages.get(target)?.ids.has(anchor), `${path}: ${link}`).to.equal(true);
        else if (!pages.has(target))
          expect((await fetch(`${service.baseUrl}${target}`)).status, `${path}: ${link}`).to.equal(200);
      }
  });

  it('have one heading, one main part, ids that are there once, and nothing that was forgotten', () => {
    for (const [path, { html }] of pages) {
      expect(html.match(/<h1[ >]/g), path).to.have.length(1);
      expect(html.match(/<main id="content"/g), path).to.have.length(1);
      const ids = idsIn(html);
      expect(
        ids.filter((id, at) => ids.indexOf(id) !== at),
        path,
      ).to.deep.equal([]);
      expect(shownText(html.replaceAll(/<pre[^]*?<\/pre>/g, '')), path).not.to.match(
        /undefined|NaN|\[object /,
      );
    }
  });

  it('weigh little: what is sent of a page, its style and each script', async () => {
    for (const [path, { packed }] of pages) {
      const isList = /operator|reference|changelog/.test(path);
      expect(packed, path).to.be.below((isList ? 28 : 12) * 1024);
    }
    const { html } = await load('/docs/reference/cards');
    const loaded = [...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
    expect(loaded.map((path) => path.replace(/.*\/(\w+)\..*\./, '$1.'))).to.deep.equal([
      'docs.css',
      'reader.js',
      'pages.js',
      'docs.js',
    ]);
    for (const path of loaded) expect((await load(path)).packed, path).to.be.below(8 * 1024);
    expect((await load('/docs/search.json')).packed).to.be.below(32 * 1024);
  });

  it('lead from each to the next, through all guides and groups of operations', () => {
    const seen: string[] = [];
    let path: string | undefined = '/docs';
    while (path !== undefined && !seen.includes(path)) {
      seen.push(path);
      const html: string = pages.get(path)?.html ?? '';
      [, path] = /href="([^"]*)" rel="next"/.exec(html) ?? [];
    }
    expect(seen.slice(0, 1 + guideNames.length)).to.deep.equal([
      '/docs',
      ...guideNames.map((name) => guidePlace(name).path),
    ]);
    expect(seen).to.include.members(['/docs/reference/cards', '/docs/reference/account', '/docs/events']);
    expect(seen.filter((each) => each.startsWith('/docs/operator'))).to.deep.equal([]);
  });

  it('show customers nothing that is the operator’s, but the way there', () => {
    for (const [path, { html }] of pages) {
      if (path.startsWith('/docs/operator') || path === '/docs/changelog') continue;
      expect(html, path).not.to.include('/operator/v1/');
      expect(html, path).not.to.include('OPERATOR_TOKEN');
    }
    expect(pages.get('/docs/operator/keys')?.html).to.include('/operator/v1/keys');
  });

  it('mark the page that is read in the navigation', () => {
    for (const [path, { html }] of pages)
      if (!path.startsWith('/docs/errors/') && path !== '/docs')
        expect(html.match(/aria-current="page"/g), path).to.have.length(1);
  });

  it('say of a field nothing twice, such as how long it may be', () => {
    const meanings = [...pages].flatMap(([path, { html }]) =>
      [...html.matchAll(/<dd>(.*?)<\/dd>/gs)].map(([, text = '']) => ({ path, text })),
    );
    expect(meanings.length).to.be.above(500);
    const doubled = meanings.filter(({ text }) => {
      const said = [...text.split(/(?<=[.;])\s+/), ...(text.match(/\d+ characters/g) ?? [])];
      return new Set(said).size < said.length;
    });
    expect(doubled).to.deep.equal([]);
    expect(meanings.map(({ text }) => text)).to.include('Two-letter US state code, in any case.');
  });

  it('have every event with its fields, those of customers with an example', () => {
    const { html = '', ids } = pages.get('/docs/events') ?? {};
    for (const type of publicEventTypes) {
      expect(ids?.has(type), type).to.equal(true);
      expect(shownText(html)).to.include(`"type": "${type}"`);
    }
    const recorded = pages.get('/docs/operator/recorded-events');
    expect(eventTypes.filter((type) => recorded?.ids.has(type) !== true)).to.deep.equal([]);
    expect(html).not.to.include('<dd></dd>');
    expect(recorded?.html).not.to.include('<dd></dd>');
  });

  it('have every operation once, with samples in three languages and its response', async () => {
    const where = new Map<string, string[]>();
    for (const [path, { html }] of pages)
      for (const [, id = ''] of html.matchAll(/<section id="(\w+)"[^>]*><h2[^]*?<p class="call">/g))
        where.set(id, [...(where.get(id) ?? []), path]);
    const operations: string[] = [];
    for (const document of ['/openapi.json', '/operator/openapi.json']) {
      const { paths } = Document.parse(await (await fetch(`${service.baseUrl}${document}`)).json());
      for (const methods of Object.values(paths))
        for (const { operationId } of Object.values(methods)) if (operationId) operations.push(operationId);
    }
    expect(operations.length).to.be.above(80);
    expect([...where.keys()]).to.include.members(operations);
    expect([...where.values()].filter((paths) => paths.length !== 1)).to.deep.equal([]);
    const { html = '' } = pages.get('/docs/reference/cards') ?? {};
    const section = /<section id="sendCard"[^]*?<\/section>/.exec(html)?.[0] ?? '';
    for (const text of ['curl', 'fetch(', 'urllib.request', 'Response 201', 'Idempotency-Key'])
      expect(shownText(section)).to.include(text);
  });

  it('have no samples but where tests run them', () => {
    const isReference = (path: string): boolean => /^\/docs\/(reference|operator)\//.test(path);
    const others = [...pages].flatMap(([path, { html }]) =>
      samplesOn(html).length > 0 &&
      !isReference(path) &&
      ![...pagesWithSamples, '/docs/clients'].includes(path)
        ? [path]
        : [],
    );
    expect(others).to.deep.equal([]);
  });

  it('are there as Markdown, with every heading and sample, and nothing of HTML', async () => {
    for (const [path, { html }] of pages) {
      if (!html.includes(` href="${path}.md" data-markdown`)) expect(path).to.equal('/docs/search');
      const response = await fetch(`${service.baseUrl}${path}.md`);
      expect([response.status, response.headers.get('content-type')], path).to.deep.equal([
        200,
        'text/markdown; charset=utf-8',
      ]);
      const markdown = await response.text();
      const parts = [...html.matchAll(/<h2><a class="anchor"[^>]*>(.*?)<\/a>/g)];
      for (const [, title = ''] of parts)
        expect(markdown.includes(`\n## ${shownText(title)}\n`), `${path}: ${title}`).to.equal(true);
      for (const { language, text } of samplesOn(html))
        expect(markdown.replaceAll('\n  ', '\n'), path).to.include(
          `\`\`\`${language}\n${text}\n\`\`\``.replaceAll('\n  ', '\n'),
        );
      const prose = markdown.replaceAll(/```[^]*?```/g, '').replaceAll(/`[^`\n]*`/g, '');
      expect(prose, path).not.to.match(/<\/?\w|undefined|\[object /);
    }
  });

  it('lead in Markdown to its headings', async () => {
    const markdown = new Map<string, string>();
    for (const path of pages.keys())
      markdown.set(path, await (await fetch(`${service.baseUrl}${path}.md`)).text());
    expect(markdown.get('/docs')).to.include('/docs/reference/cards.md#send-one-card)');
    for (const [path, text] of markdown)
      for (const [, to = '', anchor = ''] of text.matchAll(/(\/docs[^)]*)\.md#([^)]+)/g)) {
        const headings =
          markdown
            .get(to)
            ?.toLowerCase()
            .match(/^## .+$/gm) ?? [];
        const anchors = headings.map((each) =>
          each
            .slice(3)
            .replaceAll(/[^\w -]/g, '')
            .replaceAll(' ', '-'),
        );
        expect(anchors, `${path}: ${to}`).to.include(anchor);
      }
  });

  it('give the reasons of an operation as its examples', () => {
    const saying = (reason: string) => [...pages.keys()].filter((at) => pages.get(at)?.html.includes(reason));
    expect(saying('The apartment number is missing.')).to.deep.equal(['/docs/operator/cards']);
    expect(saying('The pen tore the card.')).to.deep.equal(['/docs/operator/cards']);
  });

  it('send no one who meets a copy of the service to try again there', async () => {
    const errors = await (await fetch(`${service.baseUrl}/docs/errors.md`)).text();
    expect(errors).to.match(/^\| \[`rehearsal`\].* \| 503 \| .* \| No \| No\. \|$/m);
  });

  it('are listed for programs that read', async () => {
    const list = await (await fetch(`${service.baseUrl}/llms.txt`)).text();
    expect(await (await fetch(`${service.baseUrl}/docs/llms.txt`)).text()).to.equal(list);
    const listed = [...list.matchAll(/^- \[.+\]\((.+)\.md\): .+$/gm)].map(([, to = '']) => to);
    const each = [...pages.keys()].filter((path) => !path.startsWith('/docs/errors/'));
    expect(new Set(listed)).to.deep.equal(new Set(each.map((path) => service.baseUrl + path)));
  });

  it('have the changelog and the promise of versions', () => {
    const text = shownText(pages.get('/docs/changelog')?.html ?? '');
    for (const said of ['What the version promises', 'A minor version only adds:', 'Unreleased'])
      expect(text).to.include(said);
  });

  it('find what was asked for, and escape it', async () => {
    const found = async (query: string): Promise<string> =>
      (await load(`/docs/search?q=${encodeURIComponent(query)}`)).html;
    const first = (html: string): string => /<ol class="results"><li><a href="([^"]*)"/.exec(html)?.[1] ?? '';
    expect(first(await found('no_credits'))).to.equal('/docs/errors/no_credits');
    expect(first(await found('idempotency'))).to.equal('/docs/idempotency');
    expect(first(await found('cancel a card'))).to.equal('/docs/reference/cards#cancelCard');
    expect(first(await found('retry'))).to.equal('/docs/reference/deliveries#retryDelivery');
    expect(first(await found('card.mailed'))).to.equal('/docs/events#card.mailed');
    const hostile = await found('"><img src=x onerror=alert(1)>');
    expect(hostile).not.to.include('<img');
    expect(shownText(hostile)).to.include('0 for “"><img src=x onerror=alert(1)>”');
    expect((await found('')).includes('results')).to.equal(false);
  });
});
