import * as z from 'zod'
import {
  call,
  callsOfHook,
  costNanoUsd,
  durationMs,
  flag,
  inHook,
  jsonObject,
  label,
  number,
  ofCall,
  owner,
  text,
  verdict,
  kind,
} from '../event-fields.ts'

/** Events about the code of plugins: its requests, its secrets, and its refusals. */
export const pluginEventSchemas = {
  network_requested: kind('A plugin asked a host, or wanted to.', {
    call: text.exactOptional().describe('the tool call; absent where a hook asked that is of none'),
    host: text.describe('empty if there was none to tell'),
    method: text,
    status: number.describe('of the answer; 0 if there was none'),
    refused: z.literal(true).exactOptional().describe('it may not ask this host'),
    ...inHook,
  }),
  capability_refused: kind('A plugin’s code used what it was not granted; told once a call.', {
    call,
    capability: text,
    tool: text.exactOptional().describe('of `tools`'),
    secret: text.exactOptional().describe('of `secrets`'),
    ...inHook,
  }),
  secret_used: kind('A plugin used a secret; the value is on no record.', {
    call: text.exactOptional().describe('the tool call; absent where a hook asked that is of none'),
    ...inHook,
    plugin: text,
    tool: text.exactOptional().describe('absent in a hook'),
    secret: text.describe('its name'),
    host: text.exactOptional().describe('to which it went; absent where it signed or checked'),
    place: text.describe('where in the request, or by which scheme it signed'),
  }),
  event_emitted: kind('A plugin said what happened, for those who subscribe to it.', {
    call,
    event: text.describe('`<plugin>.<event>` as its manifest declares it'),
    payload: jsonObject.exactOptional().describe('in the session only, not on the record'),
    payloadChars: number,
    label: label.describe('who can have written the payload, and who may read it'),
    isPublic: flag.exactOptional().describe('whether every principal may subscribe to it'),
  }),
  hook_called: kind('A plugin was asked at a point where it listens; never what it was about.', {
    ...ofCall,
    plugin: text,
    version: text,
    tier: z.enum(['builtin', 'trusted', 'community']),
    on: text.describe('the point'),
    matched: number.describe('how many events it was asked about'),
    verdict: verdict.describe('the gravest of what it said'),
    durationMs,
    calls: callsOfHook,
  }),
  isolate_started: kind(
    'The first use of an isolate on a day, and each that model-written code is given.',
    {
      call,
      ...owner,
      isolate: text.describe('12 characters of its id'),
      costNanoUsd,
    },
  ),
} as const
