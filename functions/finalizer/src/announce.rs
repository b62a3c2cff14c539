//! `announce`: what is told of an execution that is over. Reads Step Functions and nothing else; the state machine sends it.

use ebb_core::Ending;
use ebb_core::news::{Finished, News, news};
use ebb_store::lambda::Failure;
use ebb_store::runs::NOT_LEARNT;

use crate::Deps;

/// The news of an execution. One that is not known to be over yet is asked for again.
pub(crate) async fn announce(execution_arn: &str, deps: &Deps) -> Result<News, Failure> {
    let told = deps.world.executions.describe(execution_arn).await;
    let told = told.map_err(|error| Failure::new(Ending::Error.name(), &error.to_string()))?;
    let not_over = || Failure::new(NOT_LEARNT, "DescribeExecution does not know yet that the execution is over");
    let execution = told.ok_or_else(not_over)?;
    let end = execution.end.ok_or_else(not_over)?;
    let finished = Finished {
        execution: execution_arn.to_owned(),
        status: end.status,
        input: execution.input,
        output: end.output,
        error: end.error,
        cause: end.cause,
        started_at: execution.started_at,
    };
    let news = news(&finished, &deps.app);
    let news = news.ok_or_else(|| Failure::new(Ending::InvalidRequest.name(), "`execution` is not the ARN of an execution"))?;
    tracing::info!(execution = %execution_arn, outcome = %news.detail["result"], "told");
    Ok(news)
}

#[cfg(test)]
mod tests {
    use ebb_store::{End, Execution};
    use serde_json::json;

    use super::*;
    use crate::testing::{Bed, T};

    const ARN: &str = "arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:nightly-7";

    fn execution(end: Option<End>) -> Execution {
        let input = json!({"stack": "S", "region": "us-west-2", "confirm": "S"}).to_string();
        Execution { input, started_at: T, running: end.is_none(), redriven: false, end }
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_is_told_once_it_is_known() {
        let bed = Bed::new();
        for unknown in [None, Some(execution(None))] {
            bed.executes(unknown);
            assert_eq!(announce(ARN, &bed.deps).await.unwrap_err().name, "NotLearnt");
        }
        let cause = json!({"result": "Partial", "message": "1 failed"}).to_string();
        let end = End { status: "FAILED".into(), output: None, error: Some("Partial".into()), cause: Some(cause) };
        bed.executes(Some(execution(Some(end))));
        let news = announce(ARN, &bed.deps).await.unwrap();
        assert_eq!((news.detail["result"].as_str(), news.subject.as_str()), (Some("Partial"), "ebb: S in us-west-2: Partial"));
        assert_eq!(announce(ARN, &bed.deps).await.unwrap(), news, "told twice, it is the same");
    }
}
