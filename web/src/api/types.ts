/**
 * The wire's shapes by their short names. All are generated (`schema.d.ts`) but the graph file: it is the person's own
 * document, with keys that nobody but them knows, so the API leaves it open and what the page reads of it is named here.
 */
import type { components } from './schema'

type Schemas = components['schemas']

export interface GraphNode { id: string, type: string, position?: { x: number, y: number } | null, data: Record<string, unknown>, [key: string]: unknown }
export interface GraphEdge { id: string, source: string, target: string, sourceHandle?: string | null, targetHandle?: string | null, [key: string]: unknown }
export interface GraphData { nodes: GraphNode[], edges: GraphEdge[], [key: string]: unknown }

export type Mode = Schemas['Workflow']['mode']
/** Without the open end of a type: `Omit` would lose its named keys to it. */
type Named<T> = { [K in keyof T as string extends K ? never : K]: T[K] }
export type Workflow = Omit<Named<Schemas['Workflow']>, 'graphData'> & { graphData: GraphData }
export type WorkflowSummary = Schemas['WorkflowSummary']
export type RunOutcome = Schemas['RunOutcome']
export type RestorePoint = Schemas['RestorePoint']
export type Version = Schemas['Version']
export type VersionSummary = Schemas['VersionSummary']
export type Imported = Schemas['Imported']
export type Check = Schemas['Check']
export type CheckFault = Schemas['CheckFault']
export type Sample = Schemas['Sample']
export type NodeType = Schemas['NodeType']
export type NodeTest = Schemas['NodeTest']

export type Run = Schemas['Run']
export type ListedRun = Schemas['ListedRun']
export type RunDetail = Schemas['RunDetail']
export type ForkGiven = Schemas['ForkGiven']
export type RunGiven = Schemas['RunGiven']
export type RunEvent = Schemas['RunEvent']
export type Visit = Schemas['Visit']
export type NodeRecord = Schemas['NodeRecord']
export type Decision = Schemas['Decision']
export type Envelope = Schemas['Envelope']
export type Usage = Schemas['Usage']
export type RunUsage = Schemas['RunUsage']
export type Failure = Schemas['Failure']
export type Call = Schemas['Call']
export type WorkspaceDiff = Schemas['WorkspaceDiff']
export type Comparison = Schemas['Comparison']
export type DecisionStatistics = Schemas['DecisionStatistics']
export type Pause = Schemas['Pause']
export type Question = Schemas['Question']
export type PauseAnswerGiven = Schemas['PauseAnswerGiven']

export type Model = Schemas['Model']
export type ModelGiven = Schemas['ModelGiven']
export type ModelTest = Schemas['ModelTest']
export type EmbeddedModel = Schemas['EmbeddedModel']
export type Skill = Schemas['Skill']
export type SkillDetail = Schemas['SkillDetail']
export type SkillVersion = Schemas['SkillVersion']
export type SkillField = Schemas['SkillField']
export type McpServer = Schemas['McpServer']
export type McpServerGiven = Schemas['McpServerGiven']
export type McpServerChanged = Schemas['McpServerChanged']
export type McpTool = Schemas['McpTool']
export type McpTools = Omit<Schemas['McpToolList'], 'nextCursor'>

export type Session = Schemas['Session']
export type KnownUser = Schemas['KnownUser']
export type Role = KnownUser['role']
export type Invitation = Schemas['Invitation']
export type AuditEntry = Schemas['AuditEntry']
export type ApiKey = Schemas['ApiKey']
export type ApiKeyMade = Schemas['ApiKeyMade']
export type Settings = Schemas['Settings']
export type SettingsGiven = Schemas['SettingsGiven']
