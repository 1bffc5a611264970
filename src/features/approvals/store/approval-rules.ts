import { type ApprovalRules, scopeOf, type ApprovalRule } from '#runtime/session/types/approval.ts'
import { deploymentEvent } from '#contracts/event.ts'
import type { Clock } from '#contracts/sources.ts'
import { type Database, reached, rowsOf } from '#platform/d1/database.ts'
import { revokeRow } from '#platform/d1/deployment-log.ts'

/** How many rules of one principal and tool are read: each call that would ask compares all of them. */
const maxOfTool = 200

const select = `
  SELECT id, principal, agent, tool, definition_hash AS definitionHash, session, free, shape, label,
    decided_by AS decidedBy, created_at_ms AS createdAtMs, expires_at_ms AS expiresAtMs
  FROM approval_rules`
const insert = `
  INSERT INTO approval_rules (id, principal, agent, tool, definition_hash, session, free, shape, label, decided_by,
    created_at_ms, expires_at_ms)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT (id) DO NOTHING`

/** Rules that approvals made for later calls. An expired rule is never returned. */
export function createApprovalRules(
  database: Database,
  clock: Pick<Clock, 'nowMs'>,
): ApprovalRules {
  const all = async (rest: string, ...values: readonly (string | number)[]) =>
    (await rowsOf<RuleRow>(database, `${select} ${rest}`, ...values)).map(toRule)
  return {
    of: (principal, tool) =>
      all(
        `WHERE principal = ?1 AND tool = ?2 AND expires_at_ms > ?3
         ORDER BY expires_at_ms DESC LIMIT ${maxOfTool}`,
        principal,
        tool,
        clock.nowMs(),
      ),
    async add(rule) {
      const { id, principal, agent, tool, definitionHash, session = null, shape } = rule
      const texts = [rule.free, rule.label, rule.decidedBy].map((one) => JSON.stringify(one))
      const [free, label, decidedBy] = texts as [string, string, string]
      const row = [id, principal, agent, tool, definitionHash, session, free, shape, label]
      const times = [rule.createdAtMs, rule.expiresAtMs]
      const statement = database.prepare(insert).bind(...row, decidedBy, ...times)
      await reached(() => statement.run())
    },
    list({ principal, limit }) {
      const ofOne = principal === undefined ? '' : 'AND principal = ?3'
      const rest = `WHERE expires_at_ms > ?1 ${ofOne} ORDER BY created_at_ms DESC, id LIMIT ?2`
      return all(rest, clock.nowMs(), limit, ...(principal === undefined ? [] : [principal]))
    },
    async revoke(id, by, principal) {
      const [rule] = await all('WHERE id = ?1', id)
      if (!rule || (principal !== undefined && rule.principal !== principal)) return false
      const { principal: owner, agent, tool } = rule
      const about = { rule: id, owner, agent, tool, scope: scopeOf(rule), request: by.requestId }
      const place = { ...by, atMs: clock.nowMs() }
      const event = deploymentEvent('approval_rule_revoked', place, about)
      return revokeRow(database, 'approval_rules', { id, event })
    },
  }
}

interface RuleRow extends Omit<ApprovalRule, 'free' | 'label' | 'decidedBy'> {
  readonly free: string
  readonly label: string
  readonly decidedBy: string
}

const toRule = ({ free, label, decidedBy, ...row }: RuleRow): ApprovalRule => ({
  ...row,
  free: JSON.parse(free),
  label: JSON.parse(label),
  decidedBy: JSON.parse(decidedBy),
})
