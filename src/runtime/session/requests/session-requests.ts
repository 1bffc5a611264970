import type * as z from 'zod'
import { cancelRequest, runRequest } from '../types/runs-requests.ts'
import { createSessionRequest } from '../types/sessions-requests.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Message } from '#contracts/message.ts'
import { parseFields } from '#platform/routes/validate.ts'

/** Body of `POST /api/sessions`. Unknown fields are refused. */
export type CreateRequest = z.infer<typeof createSessionRequest>
/** Body of `POST /api/sessions/:id/runs`. Unknown fields are refused. */
export type RunRequest = z.infer<typeof runRequest>

/** Throws `request_invalid` with the field as `param`. */
export function parseCreateRequest(body: JsonObject): CreateRequest {
  return parseFields(createSessionRequest, body)
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
