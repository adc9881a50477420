/** The statements that PostgreSQL executed, by pg_stat_statements. */
import type pg from "pg";

interface StatementRow {
  readonly query: string;
  readonly calls: string;
  readonly plans: string;
  readonly planned: number;
  readonly executed: number;
}

export class StatementStatistics {
  readonly #pool: pg.Pool;

  private constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** The server must have started with pg_stat_statements among `shared_preload_libraries`. */
  static async install(pool: pg.Pool): Promise<StatementStatistics> {
    await pool.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
    return new StatementStatistics(pool);
  }

  async reset(): Promise<void> {
    await this.#pool.query("SELECT pg_stat_statements_reset()");
  }

  /** Calls per request, and µs of planning and execution per request, of each statement that costs anything. */
  async lines(requests: number): Promise<readonly string[]> {
    const { rows } = await this.#pool.query<StatementRow>(
      `SELECT query, calls, plans, total_plan_time AS planned, total_exec_time AS executed
       FROM pg_stat_statements WHERE toplevel AND query NOT LIKE '%pg_stat_statements%'
       ORDER BY total_plan_time + total_exec_time DESC`,
    );
    const sum = (value: (row: StatementRow) => number) => rows.reduce((total, row) => total + value(row), 0);
    const line = (name: string, calls: number, planned: number, executed: number) =>
      `    ${(calls / requests).toFixed(2).padStart(6)} calls  ${((planned * 1000) / requests).toFixed(1).padStart(8)} µs planned  ` +
      `${((executed * 1000) / requests).toFixed(1).padStart(8)} µs executed  ${name}`;
    return [
      line(
        "all statements",
        sum(({ calls }) => Number(calls)),
        sum(({ planned }) => planned),
        sum(({ executed }) => executed),
      ),
      ...rows
        .filter(({ calls }) => Number(calls) >= requests / 20)
        .map(({ query, calls, planned, executed }) =>
          line(query.replace(/\s+/g, " ").slice(0, 110), Number(calls), planned, executed),
        ),
    ];
  }
}
