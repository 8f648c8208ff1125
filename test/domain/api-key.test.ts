import { expect } from 'chai';
import {
  apiKey,
  isKeyShaped,
  issueKey,
  issueOperatorKey,
  keyIdOf,
  revokeKey,
  scopes,
  secretFrom,
  type ApiKeyEvent,
} from '../../domain/api-key.js';
import { house } from '../../domain/members.js';
import { OrganizationId } from '../../domain/ids.js';
import { given } from '../support/fixtures/scenario.js';

const org = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');
const key = {
  org,
  label: 'Shop',
  scopes: ['cards:send' as const, 'cards:read' as const],
  requestsPerMinute: null,
};
const issued: ApiKeyEvent = { type: 'ApiKeyIssued', data: key };
const revoked: ApiKeyEvent = { type: 'ApiKeyRevoked', data: {} };

describe('an API key', () => {
  it('is issued once', () => {
    given(apiKey).when(issueKey(key)).records(issued);
    expect(() => issueKey(key)(given(apiKey, issued).state)).to.throw('this key already exists');
  });

  it('is revoked by its organization, and a repeat records nothing', () => {
    given(apiKey, issued).when(revokeKey(org)).records(revoked);
    given(apiKey, issued, revoked).when(revokeKey(org)).recordsNothing();
    expect(given(apiKey, issued, revoked).state).to.deep.equal({
      status: 'revoked',
      ...key,
      expiresAt: null,
    });
  });

  it('of an operator belongs to the house, and is issued once', () => {
    const own = { label: 'Ada', scopes: ['operator:floor' as const], expiresAt: null };
    const made: ApiKeyEvent = { type: 'OperatorKeyIssued', data: own };
    given(apiKey).when(issueOperatorKey(own)).records(made);
    expect(() => issueOperatorKey(own)(given(apiKey, made).state)).to.throw('this key already exists');
    given(apiKey, made).when(revokeKey(house)).records(revoked);
    given(apiKey, made).when(revokeKey(org)).refuses('not_found');
    expect(given(apiKey, made).state).to.deep.equal({
      status: 'issued',
      org: house,
      requestsPerMinute: null,
      ...own,
    });
  });

  it('is not found by another organization', () => {
    given(apiKey, issued)
      .when(revokeKey(OrganizationId.parse('another')))
      .refuses('not_found');
    given(apiKey).when(revokeKey(org)).refuses('not_found');
  });

  it('has at least one of the five scopes', () => {
    expect(scopes).to.deep.equal([
      'cards:send',
      'cards:read',
      'contacts:write',
      'contacts:read',
      'webhooks:manage',
    ]);
    expect(apiKey.schemas.ApiKeyIssued.safeParse({ ...key, scopes: ['cards:print'] }).success).to.equal(
      false,
    );
  });
});

describe('the secret of a key', () => {
  const secret = secretFrom(Buffer.alloc(32, 255));

  it('consists of hck_ and 43 base64url characters', () => {
    expect(secret).to.equal(`hck_${'_'.repeat(42)}8`);
    expect(isKeyShaped(secret)).to.equal(true);
    for (const wrong of [
      '',
      'hck_',
      secret.slice(0, -1),
      `${secret}A`,
      secret.replace('hck_', 'HCK_'),
      `${secret.slice(0, -1)}+`,
      ` ${secret}`,
      `${secret}\n`,
    ]) {
      expect(isKeyShaped(wrong), wrong).to.equal(false);
    }
  });

  it('is looked up by its hash, and is not part of the key’s id', () => {
    expect(keyIdOf(secret)).to.not.equal(keyIdOf(secretFrom(Buffer.alloc(32, 1))));
    expect(keyIdOf(secret)).to.match(/^[0-9a-f-]{36}$/);
  });
});
