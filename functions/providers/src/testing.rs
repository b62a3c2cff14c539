//! A scripted AWS for replay tests of steps: expected calls in order, each with its answer. No network, no sleep; a call
//! that is not expected, or an expectation that no call meets, fails the test.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use aws_types::region::Region;
use ebb_core::provider::ProvisionedBy;
use ebb_core::{Clock, Code, Context, DeleteError, ErrorClass, Fence, Look, Millis, Options, Provider, Resource, Run, Step};
use serde_json::{Value, json};

use crate::{Clients, Cx, Providers, with_fence};

/// One expected call.
#[derive(Clone, Debug)]
struct Call {
    /// Must stand in `METHOD path?query`, in the `X-Amz-Target` header or in the body (`Action=DeleteVpc`).
    wants: Vec<String>,
    status: u16,
    body: Vec<u8>,
    headers: Vec<(&'static str, String)>,
    /// The answer never comes.
    lost: bool,
}

/// The scripted AWS and what it was asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    calls: Arc<Mutex<VecDeque<Call>>>,
    seen: Arc<Mutex<Vec<String>>>,
    if_matches: Arc<Mutex<Vec<String>>>,
    /// What a call that is not expected is answered; without it, such a call fails the test.
    otherwise: Option<Call>,
    /// Where the clients call; us-east-1 unless the test says otherwise.
    region: Option<&'static str>,
}

impl Script {
    pub(crate) fn new() -> Self {
        Script::default()
    }

    /// Calls that go to another region than us-east-1.
    pub(crate) fn in_region(region: &'static str) -> Self {
        Script { region: Some(region), ..Script::default() }
    }

    /// Expects a call whose request holds every one of `wants`, and answers it.
    pub(crate) fn on(self, wants: &[&str], status: u16, body: impl Into<String>) -> Self {
        self.push(wants, status, body.into().into_bytes(), Vec::new())
    }

    /// As [`Self::on`], for JSON protocols.
    pub(crate) fn json(self, wants: &[&str], status: u16, body: Value) -> Self {
        self.push(wants, status, body.to_string(), Vec::new())
    }

    /// An error of a JSON-protocol service.
    pub(crate) fn json_error(self, wants: &[&str], code: &str, message: &str) -> Self {
        let body = json!({ "__type": code, "message": message, "Message": message }).to_string();
        self.push(wants, 400, body, vec![("x-amzn-errortype", code.to_owned())])
    }

    /// An error of EC2.
    pub(crate) fn ec2_error(self, wants: &[&str], code: &str, message: &str) -> Self {
        let body = format!(
            "<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors><RequestID>r</RequestID></Response>"
        );
        self.push(wants, 400, body, Vec::new())
    }

    /// An error of a query-protocol service (IAM, SNS, CloudWatch).
    pub(crate) fn query_error(self, wants: &[&str], code: &str, message: &str) -> Self {
        let body = format!(
            "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error><RequestId>r</RequestId></ErrorResponse>"
        );
        self.push(wants, 400, body, Vec::new())
    }

    /// An answer of a query-protocol service, with `result` inside the result of `action`.
    pub(crate) fn query(self, wants: &[&str], action: &str, result: &str) -> Self {
        self.on(wants, 200, format!("<{action}Response><{action}Result>{result}</{action}Result></{action}Response>"))
    }

    /// An error of S3.
    pub(crate) fn s3_error(self, wants: &[&str], status: u16, code: &str, message: &str) -> Self {
        let body = format!("<Error><Code>{code}</Code><Message>{message}</Message><RequestId>r</RequestId></Error>");
        self.push(wants, status, body, Vec::new())
    }

    /// An empty answer of a service that speaks CBOR (CloudWatch).
    pub(crate) fn cbor(self, wants: &[&str]) -> Self {
        self.push(wants, 200, vec![0xa0], vec![("smithy-protocol", "rpc-v2-cbor".to_owned())])
    }

    /// An error of a service that speaks CBOR.
    pub(crate) fn cbor_error(self, wants: &[&str], code: &str, message: &str) -> Self {
        let mut body = vec![0xa2];
        for text in ["__type", code, "message", message] {
            body.extend([0x78, u8::try_from(text.len()).unwrap()]);
            body.extend(text.as_bytes());
        }
        self.push(wants, 400, body, vec![("smithy-protocol", "rpc-v2-cbor".to_owned())])
    }

    fn push(self, wants: &[&str], status: u16, body: impl Into<Vec<u8>>, headers: Vec<(&'static str, String)>) -> Self {
        let wants = wants.iter().map(|w| (*w).to_owned()).collect();
        lock(&self.calls).push_back(Call { wants, status, body: body.into(), headers, lost: false });
        self
    }

    /// Answers every call beyond the expected ones like this.
    pub(crate) fn otherwise(mut self, status: u16, body: &str) -> Self {
        self.otherwise = Some(Call { wants: Vec::new(), status, body: body.into(), headers: Vec::new(), lost: false });
        self
    }

    /// Expects a call and never answers it.
    pub(crate) fn lost(self, wants: &[&str]) -> Self {
        let script = self.on(wants, 200, "");
        if let Some(call) = lock(&script.calls).back_mut() {
            call.lost = true;
        }
        script
    }

    /// An answer with headers of its own.
    pub(crate) fn with_headers(self, wants: &[&str], status: u16, body: &str, headers: &[(&'static str, &str)]) -> Self {
        self.push(wants, status, body, headers.iter().map(|&(name, value)| (name, value.to_owned())).collect())
    }

    /// Every request so far: method, path, target and body, one text each.
    pub(crate) fn seen(&self) -> Vec<String> {
        lock(&self.seen).clone()
    }

    /// The `If-Match` headers of the requests that had one.
    pub(crate) fn if_matches(&self) -> Vec<String> {
        lock(&self.if_matches).clone()
    }

    /// Fails when an expected call did not come.
    #[track_caller]
    pub(crate) fn assert_done(&self) {
        let left = lock(&self.calls).iter().map(|c| format!("{:?}", c.wants)).collect::<Vec<_>>();
        assert!(left.is_empty(), "calls that did not come: {left:?}\nseen: {:#?}", self.seen());
    }

    /// Clients that call this script.
    pub(crate) fn clients(&self) -> Clients {
        Clients::new(self.config())
    }

    fn config(&self) -> SdkConfig {
        SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::v2026_01_12())
            .region(Region::from_static(self.region.unwrap_or("us-east-1")))
            .credentials_provider(aws_sdk_s3::config::SharedCredentialsProvider::new(aws_sdk_s3::config::Credentials::new(
                "test", "test", None, None, "test",
            )))
            .retry_config(aws_config::retry::RetryConfig::disabled())
            .timeout_config(
                aws_config::timeout::TimeoutConfig::builder().operation_timeout(ebb_store::session::OPERATION_TIMEOUT).build(),
            )
            .http_client(SharedHttpClient::new(self.clone()))
            .build()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

impl HttpClient for Script {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Script {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default()).into_owned();
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let text = format!("{} {} {target} {body}", request.method(), request.uri());
        lock(&self.seen).push(text.clone());
        lock(&self.if_matches).extend(request.headers().get("if-match").map(str::to_owned));
        let call = lock(&self.calls).pop_front().or_else(|| self.otherwise.clone());
        let answer = match call {
            Some(call) if call.wants.iter().all(|want| text.contains(want.as_str())) => call,
            Some(call) => panic!("expected a call with {:?}, got: {text}", call.wants),
            None => panic!("no call was expected, got: {text}"),
        };
        if answer.lost {
            return HttpConnectorFuture::new(std::future::pending());
        }
        let mut response = HttpResponse::new(answer.status.try_into().unwrap(), SdkBody::from(answer.body));
        response.headers_mut().insert("x-amzn-requestid", "request-1");
        for (name, value) in answer.headers {
            response.headers_mut().insert(name, value);
        }
        HttpConnectorFuture::ready(Ok(response))
    }
}

/// In how many seconds to look again, and why.
#[track_caller]
pub(crate) fn pending(answer: Result<Step, DeleteError>) -> (u64, String) {
    match answer {
        Ok(Step::Pending { look_again, note, .. }) => (look_again.as_secs(), note.into_owned()),
        other => panic!("not pending: {other:?}"),
    }
}

/// A fence that a test opens and shuts.
pub(crate) struct TestFence {
    open: AtomicBool,
    /// It shuts after so many checks more.
    checks: AtomicU64,
}

#[async_trait]
impl Fence for TestFence {
    async fn check(&self) -> Result<(), DeleteError> {
        if self.checks.fetch_sub(1, Ordering::SeqCst) == 0 {
            self.open.store(false, Ordering::SeqCst);
        }
        if self.is_open() { Ok(()) } else { Err(DeleteError::fence_shut("shut by the test")) }
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::SeqCst)
    }
}

/// A clock that a test moves.
pub(crate) struct TestClock(AtomicU64);

impl TestClock {
    /// Lets `duration` pass.
    pub(crate) fn advance(&self, duration: Duration) {
        self.0.fetch_add(u64::try_from(duration.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }

    async fn sleep(&self, duration: Duration) {
        self.advance(duration);
    }
}

/// Steps that need the state bucket bring their own.
struct NoBucket;

#[async_trait]
impl ebb_store::Bucket for NoBucket {
    fn name(&self) -> &str {
        "state"
    }
    async fn get(&self, key: &str) -> Result<Option<ebb_store::Object>, ebb_store::BucketError> {
        panic!("get {key}")
    }
    async fn put(&self, key: &str, _: ebb_store::Put, _: ebb_store::When) -> Result<String, ebb_store::BucketError> {
        panic!("put {key}")
    }
    async fn delete(&self, key: &str, _: ebb_store::When) -> Result<(), ebb_store::BucketError> {
        panic!("delete {key}")
    }
    async fn list(&self, prefix: &str, _: Option<&str>, _: usize) -> Result<ebb_store::Listing, ebb_store::BucketError> {
        panic!("list {prefix}")
    }
    async fn versions(&self, key: &str) -> Result<Vec<ebb_store::Version>, ebb_store::BucketError> {
        panic!("versions {key}")
    }
    async fn delete_versions(&self, _: &[ebb_store::Version]) -> Result<Vec<ebb_store::Version>, ebb_store::BucketError> {
        panic!("delete_versions")
    }
    async fn presign_put(&self, key: &str, _: Duration) -> Result<String, ebb_store::BucketError> {
        panic!("presign {key}")
    }
}

/// A resource under test, with the run around it. `memo` is carried from step to step as the planner does.
pub(crate) struct Bench {
    pub(crate) resource: Resource,
    pub(crate) run: Run,
    pub(crate) memo: Option<Value>,
    pub(crate) attempt: u32,
    pub(crate) clock: Arc<TestClock>,
    /// The state bucket; one that nobody may touch unless the test brings its own.
    pub(crate) bucket: Arc<dyn ebb_store::Bucket>,
    /// Milliseconds until a step should answer rather than go on.
    pub(crate) soft_budget: u64,
    /// The worker has a delete policy besides the app's.
    pub(crate) extra_delete_policy: bool,
    fence: Arc<TestFence>,
    started_at: Millis,
}

impl Bench {
    /// A resource of `resource_type` with `physical_id`, in us-east-1.
    pub(crate) fn new(resource_type: &str, physical_id: &str, properties: Value) -> Self {
        let started_at = 1_765_000_000_000;
        Bench {
            resource: Resource {
                stack: "Stack".into(),
                region: "us-east-1".into(),
                logical_id: "Logical".into(),
                resource_type: resource_type.into(),
                physical_id: physical_id.into(),
                properties: properties.as_object().cloned().unwrap_or_default(),
                attributes: Default::default(),
                provisioned_by: ProvisionedBy::Sdk,
                snapshot: false,
            },
            run: Run {
                run_id: "20261130T154512123Z-1a2b3c4d".into(),
                execution: "arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:test".into(),
                owner: "ebb@123456789012:us-east-1/ebb-teardown/test".into(),
                timestamp: started_at,
                account: "123456789012".into(),
                bucket: "state".into(),
                bucket_region: "us-east-1".into(),
                prefix: "cdkd".into(),
                stack: "Stack".into(),
                region: "us-east-1".into(),
                target: None,
                dry_run: false,
                expected_last_modified: None,
                options: Options::default(),
            },
            memo: None,
            attempt: 1,
            clock: Arc::new(TestClock(AtomicU64::new(started_at))),
            bucket: Arc::new(NoBucket),
            soft_budget: 10_000,
            extra_delete_policy: false,
            fence: Arc::new(TestFence { open: AtomicBool::new(true), checks: AtomicU64::new(u64::MAX) }),
            started_at,
        }
    }

    /// Lets `seconds` pass.
    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Opens or shuts the fence.
    pub(crate) fn fence(&self, open: bool) {
        self.fence.open.store(open, Ordering::SeqCst);
    }

    /// Shuts the fence at the check after `checks` more.
    pub(crate) fn shut_after(&self, checks: u64) {
        self.fence.checks.store(checks, Ordering::SeqCst);
    }

    fn context(&self) -> Context<'_> {
        Context {
            run: &self.run,
            attempt: self.attempt,
            started_at: self.started_at,
            memo: self.memo.as_ref(),
            fence: &*self.fence,
            clock: &*self.clock,
            soft_deadline: self.clock.now() + self.soft_budget,
        }
    }

    /// The context of a step, for what is tested without one.
    pub(crate) fn cx<T>(&self, test: impl FnOnce(&Cx<'_>) -> T) -> T {
        let (ctx, aws) = (self.context(), Script::new().clients());
        test(&Cx { ctx: &ctx, aws: &aws, bucket: &*self.bucket })
    }

    fn providers(&self, script: &Script) -> Providers {
        Providers::new(Arc::new(Clients::new(script.config())), self.bucket.clone())
            .with_extra_delete_policy(self.extra_delete_policy)
    }

    /// One step against `script`; keeps the memo of a pending answer for the next.
    pub(crate) async fn step(&mut self, script: &Script) -> Result<Step, DeleteError> {
        let answer = with_fence(self.fence.clone(), self.providers(script).step(&self.resource, &self.context())).await;
        if let Ok(Step::Pending { memo, .. }) = &answer {
            self.memo.clone_from(memo);
        }
        crate::steps_log::step(&self.resource.resource_type, &answer);
        answer
    }

    /// One step in which every call of `script` comes.
    pub(crate) async fn next(&mut self, script: Script) -> Result<Step, DeleteError> {
        let answer = self.step(&script).await;
        script.assert_done();
        answer
    }

    /// One look against `script`.
    pub(crate) async fn look(&self, script: &Script) -> Result<Look, DeleteError> {
        let answer = with_fence(self.fence.clone(), self.providers(script).look(&self.resource, &self.context())).await;
        crate::steps_log::look(&self.resource.resource_type, &answer);
        answer
    }
}

/// An error that passes: asked again after `wait` seconds, final once `give_up` seconds are over.
pub(crate) async fn assert_passes(mut bench: Bench, script: impl Fn() -> Script, wait: u64, give_up: u64) {
    let answer = bench.step(&script()).await;
    assert!(matches!(&answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == wait), "{wait} s: {answer:?}");
    bench.pass(give_up - 1);
    let answer = bench.step(&script()).await;
    assert!(matches!(answer, Ok(Step::Pending { .. })), "before {give_up} s: {answer:?}");
    bench.pass(1);
    let answer = bench.step(&script()).await;
    assert!(matches!(&answer, Err(e) if e.class == ErrorClass::Terminal), "after {give_up} s: {answer:?}");
}

/// Behind a shut fence the step changes nothing: of `script`, which holds its reads, all come and nothing else.
pub(crate) async fn assert_fenced(mut bench: Bench, script: Script) {
    bench.fence(false);
    let answer = bench.step(&script).await;
    assert!(matches!(&answer, Err(e) if e.class == ErrorClass::FenceShut), "{answer:?}");
    script.assert_done();
}

/// What cannot be addressed is skipped or refused, and nothing is called.
pub(crate) async fn assert_not_addressed(mut bench: Bench, code: Code) {
    let script = Script::new();
    match bench.step(&script).await {
        Ok(Step::Skipped { code: answered, .. }) => assert_eq!(answered, code),
        Err(error) => assert_eq!(error.code, code.name()),
        other => panic!("{}: {other:?}", bench.resource.physical_id),
    }
    assert_eq!(script.seen(), Vec::<String>::new());
}

/// The same of one error of a JSON service.
pub(crate) async fn passes(bench: impl Fn() -> Bench, delete: &[&str], code: &str, wait_s: u64, give_up_s: u64) {
    assert_passes(bench(), || Script::new().json_error(delete, code, "x"), wait_s, give_up_s).await;
}
