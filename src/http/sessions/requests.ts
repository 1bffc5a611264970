import * as z from 'zod'
import type { JsonObject } from '#contracts/json.ts'
import type { Message } from '#contracts/message.ts'
import { parseFields } from '../validate.ts'
import { clientTools } from './client-tools.ts'
import { runLimits, sessionLimits } from './limits.ts'

const createRequest = z.strictObject({
  agent: z.string().min(1).max(200).optional(),
  limits: sessionLimits.optional(),
})
const cancelRequest = z.strictObject({ reason: z.string().min(1).max(500).optional() })
const toolPattern = z
  .string()
  .regex(/^(\*|[A-Za-z0-9_-]{1,64}|[A-Za-z0-9_-]{1,62}__\*)$/, 'must be a tool, <plugin>__* or *')
const runRequest = z.strictObject({
  task: z.string().min(1),
  context: z.string().min(1).optional(),
  model: z.string().min(1).max(200).optional(),
  parameters: z
    .strictObject({
      temperature: z.number().min(0).max(2).optional(),
      topP: z.number().min(0).max(1).optional(),
      maxOutputTokens: z.int().min(1).optional(),
      stop: z.array(z.string()).max(4).optional(),
      seed: z.int().optional(),
      timeoutMs: z.int().min(1).optional(),
    })
    .optional(),
  limits: runLimits.optional(),
  requireApproval: z.array(toolPattern).max(100).optional(),
  clientTools: clientTools.optional(),
  mayAsk: z.boolean().optional(),
  wait: z.boolean().optional(),
})

/** Body of `POST /api/sessions`. Unknown fields are refused. */
export type CreateRequest = z.infer<typeof createRequest>
/** Body of `POST /api/sessions/:id/runs`. Unknown fields are refused. */
export type RunRequest = z.infer<typeof runRequest>

/** Throws `request_invalid` with the field as `param`. */
export function parseCreateRequest(body: JsonObject): CreateRequest {
  return parseFields(createRequest, body)
}

/** Why a run is cancelled, if somebody says so. Throws `request_invalid`. */
export function parseCancelRequest(body: JsonObject): { readonly reason?: string | undefined } {
  return parseFields(cancelRequest, body)
}

/** Throws `request_invalid` with the field as `param`. */
export function parseRunRequest(body: JsonObject): RunRequest {
  return parseFields(runRequest, body)
}

/** One message, so that models which want the roles to alternate take it; the context is labelled. */
export function toTaskMessage(request: RunRequest): Message {
  return request.context === undefined
    ? { role: 'user', text: request.task, taint: ['user'] }
    : {
        role: 'user',
        text: `${request.task}\n\nContext:\n${request.context}`,
        taint: ['user', 'context'],
      }
}
