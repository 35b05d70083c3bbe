//! [`Payer`]: marks every request of the SDK as paid by the requester.

use aws_sdk_s3::config::interceptors::BeforeTransmitInterceptorContextMut;
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::BoxError;

/// Name and value of the header field.
pub(crate) const REQUESTER_PAYS: (&str, &str) = ("x-amz-request-payer", "requester");

/// Adds the field before requests are signed.
#[derive(Debug)]
pub(crate) struct Payer;

impl Intercept for Payer {
    fn name(&self) -> &'static str {
        "Payer"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (name, value) = REQUESTER_PAYS;
        context.request_mut().headers_mut().insert(name, value);
        Ok(())
    }
}
