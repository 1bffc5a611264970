import * as z from 'zod'
import {
  deploymentKind as kind,
  label,
  number,
  ownerOf as owner,
  request,
  text,
  texts,
} from '../event-fields.ts'
import type { Json } from '../json.ts'
import { providerKinds } from '../provider.ts'
import { ownedEventSchemas } from './owned-event-schemas.ts'

const rights = {
  role: text,
  agents: texts.nullable().describe('`null`: all of them'),
  models: texts.nullable().describe('`null`: all of them'),
  dailyTokens: number.nullable(),
  dailyCostNanoUsd: number.nullable(),
}
const expiresAtMs = number.nullable().describe('epoch milliseconds; `null`: never')
const trustedKey = { key: text, name: text, publicKey: text, ...request }

/** Events that any stranger can cause are limited in number a minute. */
const unrecorded = {
  unrecorded: number.exactOptional().describe('how many before it were left out'),
}
const draft = {
  draft: text,
  name: text.describe('of the skill'),
  hash: text.describe('sha-256 of its content'),
}
const oauthClient = { client: text, ...request }

const skill = { skill: text.describe('its name'), hash: text.describe('sha-256 of its content') }
const plugin = { plugin: text, hash: text.describe('sha-256 of its content') }
const change = {
  generation: number
    .exactOptional()
    .describe('the set that is enabled now; absent if it did not change'),
  ...request,
}
const lines = { added: texts, removed: texts }
const unexposed = { unexposed: texts.exactOptional().describe('names that /mcp no longer offers') }
const server = { server: text }
const lowered = { plugins: texts.exactOptional(), skills: texts.exactOptional() }
const problem = { code: text, message: text }
/**
 * The fields of each kind of deployment event: operators' changes, and attempts. Like the session's schemas
 * (`event-schemas.ts`) they are the source of the types and of docs/events.md, and no part of the Worker.
 */
export const deploymentEventSchemas = {
  key_added: kind('A key was made.', {
    key: text.describe('its id, never the key'),
    owner,
    expiresAtMs,
    ...z.object(rights).partial().shape,
    persona: text.exactOptional(),
    ...request,
  }),
  key_rotated: kind('A key was replaced by another.', {
    key: text,
    owner,
    newKey: text,
    endsAtMs: number.describe('until when the old one works'),
    expiresAtMs,
    ...request,
  }),
  key_revoked: kind('A key was taken back.', { key: text, owner, ...request }),
  principal_changed: kind('What a principal may do was changed.', { owner, ...rights, ...request }),
  login_failed: kind(
    'Somebody came with a wrong key. Of each address and key the first in ten minutes is ' +
      'told, the tenth, the hundredth, and the one that was too many.',
    {
      count: number,
      refused: number.exactOptional().describe('how many before it got 429 without being counted'),
      address: text
        .exactOptional()
        .describe('of IPv6 the /64 network; absent of a flood, which is told as a sum'),
      reason: text
        .exactOptional()
        .describe('`unknown`, `expired`, `revoked` or, of a token that is not valid, `token`'),
      key: text.exactOptional().describe('of one that has ended'),
      owner: owner.exactOptional(),
      ...request,
    },
  ),
  oauth_client_registered: kind('A program registered itself.', {
    ...oauthClient,
    clientName: text,
    redirectUris: text,
    ...unrecorded,
  }),
  oauth_granted: kind('Somebody let a program act for them.', {
    grant: text,
    ...oauthClient,
    clientName: text,
    redirectUri: text,
    resource: text,
    scopes: texts,
    signedInWith: text,
  }),
  oauth_refused: kind('A sign-in ended without a grant.', {
    reason: text,
    ...oauthClient,
    redirectUri: text,
    who: text.exactOptional(),
    ...unrecorded,
  }),
  oauth_revoked: kind('A grant ended.', {
    grant: text,
    owner: owner.exactOptional(),
    reason: text,
    by: text.exactOptional().describe('the grant that replaced it'),
    ...request,
  }),
  trust_added: kind('A key that signs plugins is trusted.', trustedKey),
  trust_removed: kind('A key that signs plugins is trusted no more.', trustedKey),
  plugin_added: kind('A version of a plugin arrived.', {
    ...plugin,
    version: text,
    tier: text,
    source: text,
    accepted: z
      .literal(true)
      .exactOptional()
      .describe('an operator took up the version of an author'),
    ...change,
  }),
  plugin_granted: kind('A plugin was allowed what it asks for.', {
    ...plugin,
    lines: texts,
    ...change,
  }),
  plugin_revoked: kind('What a plugin was allowed was taken back.', { ...plugin, ...change }),
  plugin_enabled: kind('A plugin was switched on.', { ...plugin, version: text, ...change }),
  plugin_disabled: kind('A plugin was switched off.', { ...plugin, version: text, ...change }),
  plugin_rolled_back: kind('A plugin has the version that it had before.', {
    ...plugin,
    version: text,
    from: text.describe('the hash that it had'),
    ...change,
  }),
  plugin_removed: kind('A plugin, or what it kept, is gone.', {
    plugin: text,
    hash: text.exactOptional(),
    purged: z.boolean().exactOptional().describe('what it kept'),
    ...unexposed,
    ...change,
  }),
  plugin_refused: kind('A change of what is enabled was refused.', {
    asked: text,
    plugin: text.exactOptional(),
    server: text.exactOptional(),
    skill: text.exactOptional(),
    code: text,
    why: text,
    ...request,
  }),
  plugin_tripped: kind('A plugin did not start, or kept failing.', {
    ...plugin,
    version: text.exactOptional(),
    ...problem,
    isKept: z.literal(true).exactOptional().describe('it guards something, so it stays on'),
    ...change,
  }),
  skill_added: kind('A version of a skill arrived.', {
    ...skill,
    tier: text,
    source: text,
    ...change,
  }),
  skill_updated: kind('A skill has another version from now on.', {
    ...skill,
    tier: text,
    from: text.describe('the hash that it had'),
    ...change,
  }),
  skill_enabled: kind('A skill was switched on.', { ...skill, tier: text, ...change }),
  skill_disabled: kind('A skill was switched off.', { ...skill, ...change }),
  skill_removed: kind('A skill is gone.', { ...skill, ...unexposed, ...change }),
  trust_lowered: kind('What a removed key signed is a stranger’s.', { ...lowered, ...change }),
  generation_restored: kind('All that was enabled at an earlier time is enabled again.', {
    restored: number,
    regained: texts.exactOptional(),
    regainedServers: texts.exactOptional(),
    regainedSkills: texts.exactOptional(),
    policy: z.object(lines).exactOptional(),
    ...change,
  }),
  policy_changed: kind('The policy was changed.', { ...lines, ...change }),
  mcp_added: kind('An MCP server was added.', {
    ...server,
    url: text,
    headers: texts.describe('their names'),
    auth: text,
    allow: z
      .object({
        elicitation: z.boolean(),
        sampling: z.object({ maxTokens: number }).exactOptional(),
      })
      .describe('what it may ask its caller for'),
    ...change,
  }),
  mcp_approved: kind('What an MCP server offers was approved.', {
    ...server,
    hash: text,
    confirmed: texts,
    lines: texts,
    ...change,
  }),
  mcp_enabled: kind('An MCP server was switched on.', { ...server, ...change }),
  mcp_disabled: kind('An MCP server was switched off.', { ...server, ...change }),
  mcp_removed: kind('An MCP server was taken away.', { ...server, ...unexposed, ...change }),
  mcp_quarantined: kind('An MCP server offers something else than was approved.', {
    ...server,
    kind: text,
    key: text,
    approved: text,
    now: text.describe('its hash, or `gone`'),
  }),
  mcp_signed_in: kind(
    'A person signed in at an MCP server: for itself with its principal, or for the deployment without one.',
    server,
  ),
  mcp_signed_out: kind('What was kept of a principal’s sign-in at an MCP server was taken away.', {
    ...server,
    owner,
    ...request,
  }),
  mcp_sign_in_refused: kind('A sign-in at an MCP server failed.', { ...server, refused: text }),
  exposure_changed: kind('What is offered at /mcp was changed.', { ...lines, ...change }),
  skill_promoted: kind('An operator installed a draft that an agent wrote as a skill.', {
    ...draft,
    count: number.describe('how often it was written'),
    label: label.describe('of what its writer had read'),
    ...request,
  }),
  skill_draft_removed: kind('An operator took a draft away.', { ...draft, ...request }),
  skill_draft_expired: kind(
    'A draft was removed: it was not promoted, and no agent wrote it again.',
    { ...draft, lastAtMs: number.describe('when it was written last; epoch milliseconds') },
  ),
  secret_set: kind('A secret has a value. The value is on no record.', { name: text, ...request }),
  secret_removed: kind('A secret was taken away.', { name: text, ...request }),
  secrets_rotated: kind('Secrets were sealed under another key.', { count: number, ...request }),
  memory_changed: kind('A person changed notes or documents. Their texts are not on the record.', {
    owner,
    change: text.describe('`added`, `edited` or `forgotten`'),
    scope: text.exactOptional().describe('absent: all of them'),
    count: number.describe('of notes'),
    ...request,
  }),
  knowledge_changed: kind(
    'Documents that agents look things up in were put or removed. Neither name nor text is on the record.',
    {
      owner: text.describe(
        'the principal that owns them, or that changed the notes of the deployment',
      ),
      change: text.describe('`added`, `changed` or `removed`'),
      scope: text.exactOptional().describe('absent: all of them'),
      count: number.describe('of documents'),
      ...request,
    },
  ),
  provider_told: kind(
    'Code of a plugin that stands in for memory, knowledge or context asked or said ' +
      'something. The other fields are those of the event.',
    {
      plugin: text,
      provider: z.enum(providerKinds),
      event: text.describe('the kind of event, such as `network_requested`'),
      unrecorded: number
        .exactOptional()
        .describe('how many behind it were left out: 20 of a call are told'),
    },
  ).catchall(z.json() as z.ZodType<Json>),
  person_erased: kind('Somebody is erased from everywhere. Who it was is not told.', {
    owner: text.describe('the pseudonym that the record has for them'),
    step: z.enum(['asked', 'done']),
    ...request,
  }),
  images_fetched: kind('Images that a request named by their addresses were fetched, or not.', {
    images: z
      .array(
        z.object({
          host: text.describe('of the address; empty if it is none'),
          hosts: texts
            .exactOptional()
            .describe('all that were asked or refused, where a redirect led elsewhere'),
          verdict: text.describe(
            '`fetched`; else why not: `refused`, `redirects`, `aborted`, `late`, ' +
              '`unreachable`, `unsupported`, `too_large`, `broken_off`, `failed`',
          ),
          sizeBytes: number.exactOptional().describe('of the image'),
        }),
      )
      .readonly(),
    ...request,
  }),
  ...ownedEventSchemas,
  hook_called: kind(
    'A plugin was told of the end of a session, or its code said something there. The ' +
      'other fields are those of the event.',
    {
      session: text,
      event: text.exactOptional().describe('the kind of event; absent for `hook_called`'),
    },
  ).catchall(z.json() as z.ZodType<Json>),
} as const
